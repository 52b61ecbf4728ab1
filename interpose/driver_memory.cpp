// SPDX-License-Identifier: Apache-2.0
//
// Rows of the driver: plain device memory, managed and page-locked memory, and what is free.
#include "call_builders.h"
#include "driver_entries.h"

namespace memsnap::recorder {

using wire::Object;
using wire::Op;

MEMSNAP_DRIVER_ROW(cuMemAlloc_v2, (uint64_t * out, size_t size), (out, size),
                   allocate(Op::cuMemAlloc, Object::device, out, size))
MEMSNAP_DRIVER_ROW(cuMemAllocPitch_v2,
                   (uint64_t * out, size_t* pitch, size_t width, size_t height, unsigned element),
                   (out, pitch, width, height, element),
                   allocate_pitched(Op::cuMemAllocPitch, out, pitch, width, height))
MEMSNAP_DRIVER_ROW(cuMemAllocManaged, (uint64_t * out, size_t size, unsigned flags), (out, size, flags),
                   allocate(Op::cuMemAllocManaged, Object::managed, out, size))
MEMSNAP_DRIVER_ROW(cuMemFree_v2, (uint64_t address), (address), release_device(Op::cuMemFree, address))

MEMSNAP_DRIVER_ROW(cuMemAllocHost_v2, (void** out, size_t size), (out, size),
                   allocate_host(Op::cuMemAllocHost, out, size))
MEMSNAP_DRIVER_ROW(cuMemHostAlloc, (void** out, size_t size, unsigned flags), (out, size, flags),
                   allocate_host(Op::cuMemHostAlloc, out, size))
MEMSNAP_DRIVER_ROW(cuMemFreeHost, (void* address), (address),
                   release(Op::cuMemFreeHost, word(address), Object::host))
MEMSNAP_DRIVER_ROW(cuMemHostRegister, (void* address, size_t size, unsigned flags), (address, size, flags),
                   register_host(Op::cuMemHostRegister, address, size))
MEMSNAP_DRIVER_ROW(cuMemHostRegister_v2, (void* address, size_t size, unsigned flags), (address, size, flags),
                   register_host(Op::cuMemHostRegister, address, size))
MEMSNAP_DRIVER_ROW(cuMemHostUnregister, (void* address), (address),
                   release(Op::cuMemHostUnregister, word(address), Object::host))

MEMSNAP_DRIVER_ROW(cuMemGetInfo_v2, (size_t * free_bytes, size_t* total_bytes), (free_bytes, total_bytes),
                   observe(Op::cuMemGetInfo, free_bytes, total_bytes))

}  // namespace memsnap::recorder
