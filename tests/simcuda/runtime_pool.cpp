// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation of the runtime, and its per-thread-stream twins, which use the driver's own
// twins. Rule: as in runtime_memory.cpp.
#include "runtime.h"

using namespace simcuda;

namespace {

template <auto Member, typename... Rest>
cudaError_t allocate_async(void** pointer, size_t bytes, Rest... rest) {
    if (pointer == nullptr) return finish(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    return forward<Member>(reinterpret_cast<CUdeviceptr*>(pointer), bytes, rest...);
}

template <auto Member>
cudaError_t free_async(void* pointer, cudaStream_t stream) {
    return pointer == nullptr ? cudaSuccess : forward<Member>(device_address(pointer), stream);
}

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    return allocate_async<&DriverTable::cuMemAllocAsync>(pointer, bytes, stream);
}

cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
    return allocate_async<&DriverTable::cuMemAllocAsync_ptsz>(pointer, bytes, stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return allocate_async<&DriverTable::cuMemAllocFromPoolAsync>(pointer, bytes, pool, stream);
}

cudaError_t cudaMallocFromPoolAsync_ptsz(void** pointer, size_t bytes, cudaMemPool_t pool,
                                         cudaStream_t stream) {
    return allocate_async<&DriverTable::cuMemAllocFromPoolAsync_ptsz>(pointer, bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return free_async<&DriverTable::cuMemFreeAsync>(pointer, stream);
}

cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
    return free_async<&DriverTable::cuMemFreeAsync_ptsz>(pointer, stream);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    return forward<&DriverTable::cuMemPoolCreate>(pool, reinterpret_cast<const CUmemPoolProps*>(properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return forward<&DriverTable::cuMemPoolDestroy>(pool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes) {
    return forward<&DriverTable::cuMemPoolTrimTo>(pool, keep_bytes);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return forward<&DriverTable::cuMemPoolSetAttribute>(pool, static_cast<CUmemPool_attribute>(attribute),
                                                        value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return forward<&DriverTable::cuMemPoolGetAttribute>(pool, static_cast<CUmemPool_attribute>(attribute),
                                                        value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count) {
    return forward<&DriverTable::cuMemPoolSetAccess>(pool, reinterpret_cast<const CUmemAccessDesc*>(access),
                                                     count);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
    return forward<&DriverTable::cuMemPoolGetAccess>(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                                                     reinterpret_cast<CUmemLocation*>(location));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return forward<&DriverTable::cuDeviceGetDefaultMemPool>(pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return forward<&DriverTable::cuDeviceGetMemPool>(pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return forward<&DriverTable::cuDeviceSetMemPool>(device, pool);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
    return forward<&DriverTable::cuMemGetDefaultMemPool>(pool, reinterpret_cast<CUmemLocation*>(location),
                                                         static_cast<CUmemAllocationType>(type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
    return forward<&DriverTable::cuMemGetMemPool>(pool, reinterpret_cast<CUmemLocation*>(location),
                                                  static_cast<CUmemAllocationType>(type));
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
    return forward<&DriverTable::cuMemSetMemPool>(reinterpret_cast<CUmemLocation*>(location),
                                                  static_cast<CUmemAllocationType>(type), pool);
}

}  // extern "C"
