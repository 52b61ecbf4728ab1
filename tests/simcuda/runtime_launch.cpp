// SPDX-License-Identifier: Apache-2.0
// What compiled CUDA code calls: registration of its kernels, launch configurations, launches, entry points.
// Rule: a kernel is known by the address of its host stub and is never run; a launch is work on its stream.
#include <cstring>

#include "runtime.h"

using namespace simcuda;

namespace {

struct LaunchConfiguration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    cudaStream_t stream;
};

LaunchConfiguration& pushed_configuration() {
    thread_local LaunchConfiguration configuration{};
    return configuration;
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
    return forward<&DriverTable::cuLaunchKernel>(reinterpret_cast<CUfunction>(const_cast<void*>(kernel)),
                                                 grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                 static_cast<unsigned>(shared_bytes), stream,
                                                 static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

cudaError_t resolve(const char* symbol, void** function, unsigned version, unsigned long long flags,
                    cudaDriverEntryPointQueryResult* status) {
    return call_driver([&](const DriverTable& driver) {
        return driver.get_proc_address_5(symbol, function, static_cast<int>(version), flags,
                                         reinterpret_cast<CUdriverProcAddressQueryResult*>(status));
    });
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
    static void* handle = nullptr;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) {
    return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
    pushed_configuration() = {grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    const LaunchConfiguration& configuration = pushed_configuration();
    *grid = configuration.grid;
    *block = configuration.block;
    *shared_bytes = configuration.shared_bytes;
    std::memcpy(stream, &configuration.stream, sizeof configuration.stream);
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**, size_t shared_bytes,
                               cudaStream_t stream) {
    return launch(kernel, grid, block, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void**, size_t shared_bytes,
                             cudaStream_t stream) {
    return launch(kernel, grid, block, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**) {
    if (config == nullptr) return finish(cudaErrorInvalidValue);
    return launch(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void**,
                                        size_t shared_bytes, cudaStream_t stream) {
    return launch(kernel, grid, block, shared_bytes, stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    if (attributes == nullptr) return finish(cudaErrorInvalidValue);
    *attributes = cudaFuncAttributes{};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->ptxVersion = 90;
    attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = 49152;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
    return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
    return cudaSuccess;
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned int flags) {
    return forward<&DriverTable::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags>(
        blocks, reinterpret_cast<CUfunction>(const_cast<void*>(kernel)), threads, shared_bytes, flags);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          size_t shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared_bytes, 0);
}

// Variables of device code have no storage here; writing to one is accepted and lost.
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
    return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned int, cudaLibraryOption*, void**, unsigned int) {
    return forward<&DriverTable::cuLibraryLoadData>(
        library, code, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr), 0U,
        static_cast<CUlibraryOption*>(nullptr), static_cast<void**>(nullptr), 0U);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    return forward<&DriverTable::cuLibraryUnload>(library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
    return forward<&DriverTable::cuLibraryGetKernel>(kernel, library, name);
}

cudaError_t cudaProfilerStart() {
    return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
    return resolve(symbol, function, version, flags, status);
}

// Without a version: that of the toolkit the runtime belongs to (CUDA runtime API, "Driver Entry Point
// Access").
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
    return resolve(symbol, function, CUDART_VERSION, flags, status);
}

}  // extern "C"
