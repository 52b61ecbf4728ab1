// SPDX-License-Identifier: Apache-2.0
// Memory of the runtime: allocation, freeing, copies, pointers.
// Rule: sizes of zero and null pointers are treated as the runtime documents, not as the driver does ("If the
// allocation size is 0, cudaMalloc returns success and a null pointer"; "if devPtr is 0, no operation is
// performed").
#include <cstring>

#include "runtime.h"

using namespace simcuda;

namespace {

// Runs `allocate(driver, CUdeviceptr*)` and hands out its address.
template <typename Allocate>
cudaError_t give_device_memory(void** pointer, size_t bytes, Allocate allocate) {
    if (pointer == nullptr) return finish(cudaErrorInvalidValue);
    *pointer = nullptr;
    return call_context([&](const DriverTable& driver) {
        if (bytes == 0) return CUDA_SUCCESS;
        CUdeviceptr address = 0;
        const CUresult result = allocate(driver, &address);
        if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<void*>(address);
        return result;
    });
}

bool is_valid_kind(cudaMemcpyKind kind) {
    return static_cast<unsigned>(kind) <= cudaMemcpyDefault;
}

CUDA_MEMCPY2D rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                   size_t height) {
    CUDA_MEMCPY2D result{};
    result.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    result.srcDevice = device_address(from);
    result.srcPitch = from_pitch;
    result.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    result.dstDevice = device_address(to);
    result.dstPitch = to_pitch;
    result.WidthInBytes = width;
    result.Height = height;
    return result;
}

cudaMemoryType memory_type(unsigned type, int is_managed) {
    if (is_managed != 0) return cudaMemoryTypeManaged;
    if (type == CU_MEMORYTYPE_DEVICE) return cudaMemoryTypeDevice;
    return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    return give_device_memory(pointer, bytes, [&](const DriverTable& driver, CUdeviceptr* address) {
        return driver.cuMemAlloc_v2(address, bytes);
    });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
    if (pitch == nullptr) return finish(cudaErrorInvalidValue);
    return give_device_memory(pointer, width * height, [&](const DriverTable& driver, CUdeviceptr* address) {
        return driver.cuMemAllocPitch_v2(address, pitch, width, height, 4);
    });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
    if (pitched == nullptr) return finish(cudaErrorInvalidValue);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
    return give_device_memory(pointer, bytes, [&](const DriverTable& driver, CUdeviceptr* address) {
        return driver.cuMemAllocManaged(address, bytes, flags);
    });
}

cudaError_t cudaFree(void* pointer) {
    return call_context([&](const DriverTable& driver) {
        return pointer == nullptr ? CUDA_SUCCESS : driver.cuMemFree_v2(device_address(pointer));
    });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    if (pointer == nullptr) return finish(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    return forward<&DriverTable::cuMemHostAlloc>(pointer, bytes, flags);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
    return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
    return pointer == nullptr ? cudaSuccess : forward<&DriverTable::cuMemFreeHost>(pointer);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return forward<&DriverTable::cuMemHostRegister_v2>(pointer, bytes, flags);
}

cudaError_t cudaHostUnregister(void* pointer) {
    return forward<&DriverTable::cuMemHostUnregister>(pointer);
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* pointer, unsigned int flags) {
    return forward<&DriverTable::cuMemHostGetDevicePointer_v2>(reinterpret_cast<CUdeviceptr*>(device_pointer),
                                                               pointer, flags);
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
    return forward<&DriverTable::cuMemHostGetFlags>(flags, pointer);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    return forward<&DriverTable::cuMemGetInfo_v2>(free_bytes, total_bytes);
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation) {
    return forward<&DriverTable::cuMemAdvise_v2>(device_address(pointer), bytes,
                                                 static_cast<CUmem_advise>(advice), CUmemLocation{});
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation, unsigned int flags,
                                 cudaStream_t stream) {
    return forward<&DriverTable::cuMemPrefetchAsync_v2>(device_address(pointer), bytes, CUmemLocation{},
                                                        flags, stream);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    if (attributes == nullptr) return finish(cudaErrorInvalidValue);
    return call_driver([&](const DriverTable& driver) {
        unsigned type = 0;
        int is_managed = 0;
        int device = -2;
        CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
        void* where[] = {&type, &is_managed, &device};
        const CUresult result = driver.cuPointerGetAttributes(3, which, where, device_address(pointer));
        *attributes = cudaPointerAttributes{};
        attributes->type = memory_type(type, is_managed);
        attributes->device = device;
        auto* const address = const_cast<void*>(pointer);
        if (attributes->type != cudaMemoryTypeUnregistered) attributes->devicePointer = address;
        if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = address;
        return result;
    });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (!is_valid_kind(kind)) return finish(cudaErrorInvalidMemcpyDirection);
    return forward<&DriverTable::cuMemcpy>(device_address(to), device_address(from), bytes);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (!is_valid_kind(kind)) return finish(cudaErrorInvalidMemcpyDirection);
    return forward<&DriverTable::cuMemcpyAsync>(device_address(to), device_address(from), bytes, stream);
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    return forward<&DriverTable::cuMemcpyPeer>(device_address(to), CUcontext{}, device_address(from),
                                               CUcontext{}, bytes);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
    return forward<&DriverTable::cuMemcpyPeerAsync>(device_address(to), CUcontext{}, device_address(from),
                                                    CUcontext{}, bytes, stream);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    if (!is_valid_kind(kind)) return finish(cudaErrorInvalidMemcpyDirection);
    const CUDA_MEMCPY2D copy = rows(to, to_pitch, from, from_pitch, width, height);
    return forward<&DriverTable::cuMemcpy2D_v2>(&copy);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    if (!is_valid_kind(kind)) return finish(cudaErrorInvalidMemcpyDirection);
    const CUDA_MEMCPY2D copy = rows(to, to_pitch, from, from_pitch, width, height);
    return forward<&DriverTable::cuMemcpy2DAsync_v2>(&copy, stream);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    return forward<&DriverTable::cuMemsetD8_v2>(device_address(to), static_cast<unsigned char>(value), bytes);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    return forward<&DriverTable::cuMemsetD8Async>(device_address(to), static_cast<unsigned char>(value),
                                                  bytes, stream);
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return forward<&DriverTable::cuMemsetD2D8_v2>(device_address(to), pitch,
                                                  static_cast<unsigned char>(value), width, height);
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    return forward<&DriverTable::cuMemsetD2D8Async>(device_address(to), pitch,
                                                    static_cast<unsigned char>(value), width, height, stream);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
    return forward<&DriverTable::cuIpcGetMemHandle>(reinterpret_cast<CUipcMemHandle*>(handle),
                                                    device_address(pointer));
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
    CUipcMemHandle driver_handle{};
    std::memcpy(&driver_handle, &handle, sizeof handle);
    return forward<&DriverTable::cuIpcOpenMemHandle_v2>(reinterpret_cast<CUdeviceptr*>(pointer),
                                                        driver_handle, flags);
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
    return forward<&DriverTable::cuIpcCloseMemHandle>(device_address(pointer));
}

}  // extern "C"
