// SPDX-License-Identifier: Apache-2.0
//
// The functions exported for other libraries to call, but dlsym. One list: enumerators and names follow it,
// and each has its hook.
#pragma once

#include <cstdint>

namespace memsnap::recorder {

// clang-format off
#define MEMSNAP_RUNTIME_FUNCTIONS(X) \
    X(cudaMalloc) X(cudaMallocPitch) X(cudaMalloc3D) X(cudaMallocArray) X(cudaMalloc3DArray) \
    X(cudaMallocMipmappedArray) X(cudaMallocManaged) X(cudaMallocHost) X(cudaHostAlloc) \
    X(cudaHostRegister) X(cudaMallocAsync) X(cudaMallocAsync_ptsz) X(cudaMallocFromPoolAsync) \
    X(cudaMallocFromPoolAsync_ptsz) X(cudaIpcOpenMemHandle) X(cudaImportExternalMemory) \
    X(cudaExternalMemoryGetMappedBuffer) X(cudaExternalMemoryGetMappedMipmappedArray) \
    X(cudaMemPoolCreate) X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer) \
    X(cudaGraphAddMemAllocNode) X(cudaFree) X(cudaFreeAsync) X(cudaFreeAsync_ptsz) X(cudaFreeHost) \
    X(cudaHostUnregister) X(cudaFreeArray) X(cudaFreeMipmappedArray) X(cudaIpcCloseMemHandle) \
    X(cudaDestroyExternalMemory) X(cudaMemPoolDestroy) X(cudaMemPoolTrimTo) \
    X(cudaGraphAddMemFreeNode) X(cudaDeviceGraphMemTrim) X(cudaDeviceReset) X(cudaIpcGetMemHandle) \
    X(cudaMemPoolSetAttribute) X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolExportPointer) \
    X(cudaDeviceSetMemPool) X(cudaMemGetInfo)
#define MEMSNAP_TORCH_FUNCTIONS(X) \
    X(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE) \
    X(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE) \
    X(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE) \
    X(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE)
// clang-format on

enum class Function : uint16_t {
#define MEMSNAP_ENUMERATOR(name) name,
    MEMSNAP_RUNTIME_FUNCTIONS(MEMSNAP_ENUMERATOR)
    MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_ENUMERATOR)
#undef MEMSNAP_ENUMERATOR
        count
};

}  // namespace memsnap::recorder
