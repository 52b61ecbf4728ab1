// SPDX-License-Identifier: Apache-2.0
//
// The functions of other libraries that have hooks, but dlsym and dlclose: those exported for others to call,
// and the runtime's lookups of driver entry points, which only a slot put right later leads to
// (slot_hooks.h). One list: enumerators and names follow it.
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
#define MEMSNAP_LOOKUP_FUNCTIONS(X) \
    X(cudaGetDriverEntryPoint) X(cudaGetDriverEntryPoint_ptsz) X(cudaGetDriverEntryPointByVersion) \
    X(cudaGetDriverEntryPointByVersion_ptsz)
// clang-format on

enum class Function : uint16_t {
#define MEMSNAP_ENUMERATOR(name) name,
    MEMSNAP_RUNTIME_FUNCTIONS(MEMSNAP_ENUMERATOR)
    MEMSNAP_TORCH_FUNCTIONS(MEMSNAP_ENUMERATOR) MEMSNAP_LOOKUP_FUNCTIONS(MEMSNAP_ENUMERATOR)
#undef MEMSNAP_ENUMERATOR
        count
};
// The exported ones come first.
inline constexpr uint32_t kExportedFunctionCount = static_cast<uint32_t>(Function::cudaGetDriverEntryPoint);

}  // namespace memsnap::recorder
