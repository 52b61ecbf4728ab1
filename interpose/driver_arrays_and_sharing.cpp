// SPDX-License-Identifier: Apache-2.0
//
// Rows of the driver: arrays, and memory that comes from or goes to another process or API.
#include "call_builders.h"
#include "driver_entries.h"

namespace memsnap::recorder {

using wire::Object;
using wire::Op;

MEMSNAP_DRIVER_ROW(cuArrayCreate_v2, (cuda::Array * out, const cuda::ArrayShape* shape), (out, shape),
                   allocate_array(Op::cuArrayCreate, out, driver_array_bytes(shape)))
MEMSNAP_DRIVER_ROW(cuArray3DCreate_v2, (cuda::Array * out, const cuda::ArrayShape3D* shape), (out, shape),
                   allocate_array(Op::cuArray3DCreate, out, driver_array_bytes(shape, 1)))
MEMSNAP_DRIVER_ROW(cuArrayDestroy, (cuda::Array array), (array),
                   release(Op::cuArrayDestroy, word(array), Object::array))
MEMSNAP_DRIVER_ROW(cuMipmappedArrayCreate,
                   (cuda::Array * out, const cuda::ArrayShape3D* shape, unsigned levels),
                   (out, shape, levels),
                   allocate_array(Op::cuMipmappedArrayCreate, out, driver_array_bytes(shape, levels)))
MEMSNAP_DRIVER_ROW(cuMipmappedArrayDestroy, (cuda::Array array), (array),
                   release(Op::cuMipmappedArrayDestroy, word(array), Object::array))

MEMSNAP_DRIVER_ROW(cuIpcGetMemHandle, (cuda::IpcMemHandle * handle, uint64_t address), (handle, address),
                   change(Op::cuIpcGetMemHandle, address))
MEMSNAP_DRIVER_ROW(cuIpcOpenMemHandle, (uint64_t * out, cuda::IpcMemHandle handle, unsigned flags),
                   (out, handle, flags), import(Op::cuIpcOpenMemHandle, Object::import, out, 0, 0))
MEMSNAP_DRIVER_ROW(cuIpcOpenMemHandle_v2, (uint64_t * out, cuda::IpcMemHandle handle, unsigned flags),
                   (out, handle, flags), import(Op::cuIpcOpenMemHandle, Object::import, out, 0, 0))
MEMSNAP_DRIVER_ROW(cuIpcCloseMemHandle, (uint64_t address), (address),
                   release(Op::cuIpcCloseMemHandle, address, Object::import))

MEMSNAP_DRIVER_ROW(cuImportExternalMemory,
                   (cuda::ExternalMemory * out, const cuda::ExternalMemoryDescription* description),
                   (out, description),
                   import(Op::cuImportExternalMemory, Object::import, out,
                          description == nullptr ? 0 : description->size, 0))
MEMSNAP_DRIVER_ROW(cuExternalMemoryGetMappedBuffer,
                   (uint64_t * out, cuda::ExternalMemory memory, const cuda::ExternalBuffer* buffer),
                   (out, memory, buffer),
                   import(Op::cuExternalMemoryGetMappedBuffer, Object::import, out,
                          buffer == nullptr ? 0 : buffer->size, word(memory)))
MEMSNAP_DRIVER_ROW(cuExternalMemoryGetMappedMipmappedArray,
                   (cuda::Array * out, cuda::ExternalMemory memory, const void* description),
                   (out, memory, description),
                   import(Op::cuExternalMemoryGetMappedMipmappedArray, Object::array, out, 0, word(memory)))
MEMSNAP_DRIVER_ROW(cuDestroyExternalMemory, (cuda::ExternalMemory memory), (memory),
                   release(Op::cuDestroyExternalMemory, word(memory), Object::import))

}  // namespace memsnap::recorder
