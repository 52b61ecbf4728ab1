// SPDX-License-Identifier: Apache-2.0
// Devices of the runtime: which one a thread uses, its context, its properties.
// Rule: the primary context comes to life at the first call that needs it, or at cudaSetDevice (since
// CUDA 12.0; CUDA programming guide, "Initialization").
#include <cstring>

#include "runtime.h"

namespace simcuda {
namespace {

// Retains the primary context once a process and runtime copy, and again when it was reset since.
CUresult primary_context(const DriverTable& driver, int device, CUcontext* context) {
    static CUcontext retained[64] = {};  // written with equal values only
    int active = 0;
    unsigned flags = 0;
    const CUresult known = driver.cuDevicePrimaryCtxGetState(device, &flags, &active);
    if (known != CUDA_SUCCESS) return known;
    if (active == 0 || retained[device] == nullptr) {
        const CUresult result = driver.cuDevicePrimaryCtxRetain(&retained[device], device);
        if (result != CUDA_SUCCESS) return result;
    }
    *context = retained[device];
    return CUDA_SUCCESS;
}

CUresult use_device(const DriverTable& driver, int device) {
    CUcontext context = nullptr;
    const CUresult result = primary_context(driver, device, &context);
    return result == CUDA_SUCCESS ? driver.cuCtxSetCurrent(context) : result;
}

CUresult check_device(const DriverTable& driver, int device) {
    CUdevice ignored = 0;
    return driver.cuDeviceGet(&ignored, device);
}

CUresult current_device(const DriverTable& driver, int* device) {
    CUcontext context = nullptr;
    const CUresult result = driver.cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS) return result;
    *device = thread_device();
    return context == nullptr ? CUDA_SUCCESS : driver.cuCtxGetDevice(device);
}

int attribute(const DriverTable& driver, CUdevice_attribute which, int device) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, device);
    return value;
}

void fill_limits(const DriverTable& driver, int device, cudaDeviceProp* properties) {
    const auto get = [&](CUdevice_attribute which) { return attribute(driver, which, device); };
    properties->major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    properties->minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    properties->multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    properties->warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    properties->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    properties->maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    properties->maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    properties->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    properties->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    properties->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    properties->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    properties->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    properties->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    properties->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    properties->regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    properties->memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    properties->l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    properties->asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    properties->concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
    properties->unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    properties->canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    properties->managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    properties->streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
    properties->cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
    properties->memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    properties->pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    properties->pciDeviceID = get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    properties->pciDomainID = get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
}

void fill_sizes(const DriverTable& driver, int device, cudaDeviceProp* properties) {
    const auto get = [&](CUdevice_attribute which) {
        return static_cast<size_t>(attribute(driver, which, device));
    };
    properties->sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    properties->sharedMemPerBlockOptin = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    properties->sharedMemPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    properties->reservedSharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    properties->totalConstMem = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    properties->memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    properties->textureAlignment = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    properties->texturePitchAlignment = get(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
}

}  // namespace

int& thread_device() {
    thread_local int device = 0;
    return device;
}

CUresult ensure_context(const DriverTable& driver) {
    CUcontext context = nullptr;
    const CUresult result = driver.cuCtxGetCurrent(&context);
    if (result != CUDA_SUCCESS || context != nullptr) return result;
    return use_device(driver, thread_device());
}

}  // namespace simcuda

using namespace simcuda;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    if (count == nullptr) return finish(cudaErrorInvalidValue);
    *count = 0;
    return call_driver([&](const DriverTable& driver) { return driver.cuDeviceGetCount(count); });
}

cudaError_t cudaGetDevice(int* device) {
    if (device == nullptr) return finish(cudaErrorInvalidValue);
    return call_driver([&](const DriverTable& driver) { return current_device(driver, device); });
}

cudaError_t cudaSetDevice(int device) {
    return call_driver([&](const DriverTable& driver) {
        const CUresult valid = check_device(driver, device);
        if (valid != CUDA_SUCCESS) return valid;
        thread_device() = device;
        return use_device(driver, device);
    });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
    return call_driver([&](const DriverTable& driver) {
        const CUresult valid = check_device(driver, device);
        CUcontext ignored = nullptr;
        return valid == CUDA_SUCCESS ? primary_context(driver, device, &ignored) : valid;
    });
}

cudaError_t cudaDeviceReset() {
    const cudaError_t result = call_driver([](const DriverTable& driver) {
        int device = 0;
        const CUresult known = current_device(driver, &device);
        if (known != CUDA_SUCCESS) return known;
        thread_device() = device;
        return driver.cuDevicePrimaryCtxReset(device);
    });
    if (result == cudaSuccess) clear_last_error();
    return result;
}

cudaError_t cudaDeviceSynchronize() {
    return forward<&DriverTable::cuCtxSynchronize>();
}

cudaError_t cudaDriverGetVersion(int* version) {
    const DriverTable& driver = driver_table();
    if (driver.cuDriverGetVersion != nullptr) return finish(driver.cuDriverGetVersion(version));
    *version = 0;  // "if no driver is installed, then 0 is returned" (CUDA runtime API, "Version Management")
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) return finish(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    return call_driver([&](const DriverTable& driver) {
        return driver.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(which), device);
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (properties == nullptr) return finish(cudaErrorInvalidValue);
    return call_driver([&](const DriverTable& driver) {
        const CUresult valid = check_device(driver, device);
        if (valid != CUDA_SUCCESS) return valid;
        std::memset(properties, 0, sizeof *properties);
        CUuuid uuid{};
        driver.cuDeviceGetUuid_v2(&uuid, device);
        std::memcpy(&properties->uuid, &uuid, sizeof uuid);
        fill_limits(driver, device, properties);
        fill_sizes(driver, device, properties);
        driver.cuDeviceTotalMem_v2(&properties->totalGlobalMem, device);
        return driver.cuDeviceGetName(properties->name, sizeof properties->name, device);
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    return call_driver(
        [&](const DriverTable& driver) { return driver.cuDeviceGetPCIBusId(text, length, device); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
    return call_driver([&](const DriverTable& driver) { return driver.cuDeviceGetByPCIBusId(device, text); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
    return call_driver(
        [&](const DriverTable& driver) { return driver.cuDeviceCanAccessPeer(can_access, device, peer); });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int device, int peer) {
    return call_driver([&](const DriverTable& driver) {
        return driver.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(which), device, peer);
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
    return call_context([&](const DriverTable& driver) {
        CUcontext context = nullptr;
        const CUresult result = primary_context(driver, peer, &context);
        return result == CUDA_SUCCESS ? driver.cuCtxEnablePeerAccess(context, flags) : result;
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call_context([&](const DriverTable& driver) {
        CUcontext context = nullptr;
        const CUresult result = primary_context(driver, peer, &context);
        return result == CUDA_SUCCESS ? driver.cuCtxDisablePeerAccess(context) : result;
    });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return forward<&DriverTable::cuCtxGetStreamPriorityRange>(least, greatest);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return forward<&DriverTable::cuCtxSetLimit>(static_cast<CUlimit>(limit), value);
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    return forward<&DriverTable::cuCtxGetLimit>(value, static_cast<CUlimit>(limit));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
    return call_driver([&](const DriverTable& driver) {
        return driver.cuDevicePrimaryCtxSetFlags_v2(thread_device(), flags);
    });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
    return call_driver([&](const DriverTable& driver) {
        int active = 0;
        return driver.cuDevicePrimaryCtxGetState(thread_device(), flags, &active);
    });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
    return cudaSuccess;
}

}  // extern "C"
