// SPDX-License-Identifier: Apache-2.0
//
// Rows of the driver: stream-ordered memory and the pools that it comes from.
#include "call_builders.h"
#include "driver_entries.h"
#include "pool_devices.h"

namespace memsnap::recorder {

using wire::Object;
using wire::Op;

MEMSNAP_DRIVER_ROW(cuMemAllocAsync, (uint64_t * out, size_t size, cuda::Stream stream), (out, size, stream),
                   allocate_stream_ordered(Op::cuMemAllocAsync, out, size, stream, DefaultStream::legacy))
MEMSNAP_DRIVER_ROW(cuMemAllocAsync_ptsz, (uint64_t * out, size_t size, cuda::Stream stream),
                   (out, size, stream),
                   allocate_stream_ordered(Op::cuMemAllocAsync, out, size, stream, DefaultStream::per_thread))
MEMSNAP_DRIVER_ROW(cuMemAllocFromPoolAsync,
                   (uint64_t * out, size_t size, cuda::Pool pool, cuda::Stream stream),
                   (out, size, pool, stream),
                   allocate_from_pool(Op::cuMemAllocFromPoolAsync, out, size, pool, stream,
                                      DefaultStream::legacy))
MEMSNAP_DRIVER_ROW(cuMemAllocFromPoolAsync_ptsz,
                   (uint64_t * out, size_t size, cuda::Pool pool, cuda::Stream stream),
                   (out, size, pool, stream),
                   allocate_from_pool(Op::cuMemAllocFromPoolAsync, out, size, pool, stream,
                                      DefaultStream::per_thread))
MEMSNAP_DRIVER_ROW(cuMemFreeAsync, (uint64_t address, cuda::Stream stream), (address, stream),
                   release_stream_ordered(Op::cuMemFreeAsync, address, stream, DefaultStream::legacy))
MEMSNAP_DRIVER_ROW(cuMemFreeAsync_ptsz, (uint64_t address, cuda::Stream stream), (address, stream),
                   release_stream_ordered(Op::cuMemFreeAsync, address, stream, DefaultStream::per_thread))

MEMSNAP_DRIVER_ROW(cuMemPoolCreate, (cuda::Pool * out, const cuda::PoolProperties* properties),
                   (out, properties), create_pool(Op::cuMemPoolCreate, out, properties))
MEMSNAP_DRIVER_ROW(cuMemPoolDestroy, (cuda::Pool pool), (pool),
                   release(Op::cuMemPoolDestroy, word(pool), Object::pool))
MEMSNAP_DRIVER_ROW(cuMemPoolTrimTo, (cuda::Pool pool, size_t keep), (pool, keep),
                   change_pool(Op::cuMemPoolTrimTo, pool, keep))
MEMSNAP_DRIVER_ROW(cuMemPoolSetAttribute, (cuda::Pool pool, int attribute, void* value),
                   (pool, attribute, value), change_pool(Op::cuMemPoolSetAttribute, pool))
MEMSNAP_DRIVER_ROW(cuMemPoolExportToShareableHandle,
                   (void* handle, cuda::Pool pool, int type, unsigned long long flags),
                   (handle, pool, type, flags), change_pool(Op::cuMemPoolExportToShareableHandle, pool))
MEMSNAP_DRIVER_ROW(cuMemPoolImportFromShareableHandle,
                   (cuda::Pool * out, void* handle, int type, unsigned long long flags),
                   (out, handle, type, flags),
                   import(Op::cuMemPoolImportFromShareableHandle, Object::pool, out, 0, 0))
MEMSNAP_DRIVER_ROW(cuMemPoolExportPointer, (void* data, uint64_t address), (data, address),
                   change(Op::cuMemPoolExportPointer, address))
MEMSNAP_DRIVER_ROW(cuMemPoolImportPointer, (uint64_t * out, cuda::Pool pool, void* data), (out, pool, data),
                   import(Op::cuMemPoolImportPointer, Object::import, out, 0, word(pool)))
MEMSNAP_DRIVER_ROW(cuDeviceSetMemPool, (int device, cuda::Pool pool), (device, pool),
                   change_on_device(Op::cuDeviceSetMemPool, device, word(pool)))
MEMSNAP_DRIVER_ROW(cuMemSetMemPool, (cuda::Location * location, int type, cuda::Pool pool),
                   (location, type, pool), change_at_location(Op::cuDeviceSetMemPool, location, word(pool)))

// ---- questions of the program, whose answers name pools that it did not create. Not recorded.

MEMSNAP_DRIVER_WRAPPER(cuDeviceGetDefaultMemPool, (cuda::Pool * out, int device)) {
    int result = original<Entry::cuDeviceGetDefaultMemPool, int(cuda::Pool*, int)>()(out, device);
    if (result == 0) note_pool_of_device(*out, device);
    return result;
}

MEMSNAP_DRIVER_WRAPPER(cuDeviceGetMemPool, (cuda::Pool * out, int device)) {
    int result = original<Entry::cuDeviceGetMemPool, int(cuda::Pool*, int)>()(out, device);
    if (result == 0) note_pool_of_device(*out, device);
    return result;
}

MEMSNAP_DRIVER_WRAPPER(cuMemGetDefaultMemPool, (cuda::Pool * out, cuda::Location* location, int type)) {
    int result = original<Entry::cuMemGetDefaultMemPool, int(cuda::Pool*, cuda::Location*, int)>()(
        out, location, type);
    if (result == 0) note_pool_at_location(*out, *location);
    return result;
}

MEMSNAP_DRIVER_WRAPPER(cuMemGetMemPool, (cuda::Pool * out, cuda::Location* location, int type)) {
    int result =
        original<Entry::cuMemGetMemPool, int(cuda::Pool*, cuda::Location*, int)>()(out, location, type);
    if (result == 0) note_pool_at_location(*out, *location);
    return result;
}

}  // namespace memsnap::recorder
