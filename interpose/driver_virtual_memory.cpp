// SPDX-License-Identifier: Apache-2.0
//
// Rows of the driver: virtual memory management and multicast objects. cuMemSetAccess has none: it changes
// who may touch memory, not who holds it.
#include "call_builders.h"
#include "driver_entries.h"
#include "endings.h"

namespace memsnap::recorder {

using wire::Object;
using wire::Op;

MEMSNAP_DRIVER_ROW(cuMemAddressReserve,
                   (uint64_t * out, size_t size, size_t alignment, uint64_t wanted, unsigned long long flags),
                   (out, size, alignment, wanted, flags),
                   reserve_addresses(Op::cuMemAddressReserve, out, size))
MEMSNAP_DRIVER_ROW(cuMemAddressFree, (uint64_t address, size_t size), (address, size),
                   release(Op::cuMemAddressFree, address, Object::reservation))
MEMSNAP_DRIVER_ROW(cuMemCreate,
                   (uint64_t * handle, size_t size, const cuda::AllocationProperties* properties,
                    unsigned long long flags),
                   (handle, size, properties, flags),
                   create_memory(Op::cuMemCreate, handle, size, properties))
// Ends a reference: to memory, or to a multicast object.
MEMSNAP_DRIVER_ROW(cuMemRelease, (uint64_t handle), (handle),
                   release(Op::cuMemRelease, handle, Object::vmm_handle, Object::multicast))
MEMSNAP_DRIVER_ROW(cuMemMap,
                   (uint64_t address, size_t size, size_t offset, uint64_t handle, unsigned long long flags),
                   (address, size, offset, handle, flags), map_memory(Op::cuMemMap, address, size, handle))
MEMSNAP_DRIVER_ROW(cuMemMapArrayAsync, (void* list, unsigned count, cuda::Stream stream),
                   (list, count, stream), change(Op::cuMemMapArrayAsync, 0, 0, word(stream)))
MEMSNAP_DRIVER_ROW(cuMemMapArrayAsync_ptsz, (void* list, unsigned count, cuda::Stream stream),
                   (list, count, stream), change(Op::cuMemMapArrayAsync, 0, 0, word(stream)))
MEMSNAP_DRIVER_ROW(cuMemUnmap, (uint64_t address, size_t size), (address, size),
                   end_mappings(Op::cuMemUnmap, address, size))
MEMSNAP_DRIVER_ROW(cuMemRetainAllocationHandle, (uint64_t * handle, void* address), (handle, address),
                   retain_memory(Op::cuMemRetainAllocationHandle, handle, address))
MEMSNAP_DRIVER_ROW(cuMemExportToShareableHandle,
                   (void* shared, uint64_t handle, int type, unsigned long long flags),
                   (shared, handle, type, flags), change_memory(Op::cuMemExportToShareableHandle, handle))
MEMSNAP_DRIVER_ROW(cuMemImportFromShareableHandle, (uint64_t * handle, void* shared, int type),
                   (handle, shared, type),
                   import(Op::cuMemImportFromShareableHandle, Object::vmm_handle, handle, 0, 0))

MEMSNAP_DRIVER_ROW(cuMulticastCreate, (uint64_t * handle, const cuda::MulticastProperties* properties),
                   (handle, properties), create_multicast(Op::cuMulticastCreate, handle, properties))
MEMSNAP_DRIVER_ROW(cuMulticastBindMem,
                   (uint64_t multicast, size_t offset, uint64_t handle, size_t memory_offset, size_t size,
                    unsigned long long flags),
                   (multicast, offset, handle, memory_offset, size, flags),
                   bind_memory(Op::cuMulticastBindMem, multicast, size, Object::vmm_handle, handle))
MEMSNAP_DRIVER_ROW(cuMulticastBindAddr,
                   (uint64_t multicast, size_t offset, uint64_t address, size_t size,
                    unsigned long long flags),
                   (multicast, offset, address, size, flags),
                   bind_memory(Op::cuMulticastBindAddr, multicast, size, Object::mapping, address))
MEMSNAP_DRIVER_ROW(cuMulticastUnbind, (uint64_t multicast, int device, size_t offset, size_t size),
                   (multicast, device, offset, size),
                   unbind_memory(Op::cuMulticastUnbind, multicast, device, size))

}  // namespace memsnap::recorder
