// SPDX-License-Identifier: Apache-2.0
//
// The driver's entry points that have wrappers, by the names under which it exports them. One list:
// enumerators, originals and the table of substitutions follow it, and each entry has one row in one of the
// driver_*.cpp. Names of several versions (_v2) and of per-thread streams (_ptsz) are entries of their own,
// since each has its own binary interface; of the 32-bit interfaces that CUDA 3.2 replaced none is here: they
// cannot address memory that a 64-bit process has.
#pragma once

#include <atomic>
#include <cstdint>

#include "callers.h"

namespace memsnap::recorder {

// clang-format off
#define MEMSNAP_DRIVER_ENTRIES(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetProcAddress) X(cuGetProcAddress_v2) \
    X(cuMemAlloc_v2) X(cuMemAllocPitch_v2) X(cuMemAllocManaged) X(cuMemFree_v2) X(cuMemAllocHost_v2) \
    X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) X(cuMemHostRegister_v2) X(cuMemHostUnregister) \
    X(cuMemGetInfo_v2) \
    X(cuMemAllocAsync) X(cuMemAllocAsync_ptsz) X(cuMemAllocFromPoolAsync) X(cuMemAllocFromPoolAsync_ptsz) \
    X(cuMemFreeAsync) X(cuMemFreeAsync_ptsz) X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolTrimTo) \
    X(cuMemPoolSetAttribute) X(cuMemPoolExportToShareableHandle) X(cuMemPoolImportFromShareableHandle) \
    X(cuMemPoolExportPointer) X(cuMemPoolImportPointer) X(cuDeviceGetDefaultMemPool) X(cuDeviceGetMemPool) \
    X(cuDeviceSetMemPool) X(cuMemGetDefaultMemPool) X(cuMemGetMemPool) X(cuMemSetMemPool) \
    X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) \
    X(cuMemMapArrayAsync) X(cuMemMapArrayAsync_ptsz) X(cuMemUnmap) X(cuMemRetainAllocationHandle) \
    X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) X(cuMulticastCreate) \
    X(cuMulticastBindMem) X(cuMulticastBindAddr) X(cuMulticastUnbind) \
    X(cuArrayCreate_v2) X(cuArray3DCreate_v2) X(cuArrayDestroy) X(cuMipmappedArrayCreate) \
    X(cuMipmappedArrayDestroy) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcOpenMemHandle_v2) \
    X(cuIpcCloseMemHandle) X(cuImportExternalMemory) X(cuExternalMemoryGetMappedBuffer) \
    X(cuExternalMemoryGetMappedMipmappedArray) X(cuDestroyExternalMemory) \
    X(cuGraphAddMemAllocNode) X(cuGraphAddMemFreeNode) X(cuGraphAddNode) X(cuGraphAddNode_v2) \
    X(cuDeviceGraphMemTrim) X(cuStreamBeginCapture) X(cuStreamBeginCapture_ptsz) X(cuStreamBeginCapture_v2) \
    X(cuStreamBeginCapture_v2_ptsz) X(cuStreamBeginCaptureToGraph) X(cuStreamBeginCaptureToGraph_ptsz) \
    X(cuStreamEndCapture) X(cuStreamEndCapture_ptsz) \
    X(cuCtxCreate) X(cuCtxCreate_v2) X(cuCtxCreate_v3) X(cuCtxCreate_v4) X(cuCtxDestroy) X(cuCtxDestroy_v2) \
    X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxRelease_v2) \
    X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxReset_v2) X(cuGreenCtxCreate) X(cuGreenCtxDestroy)
// clang-format on

enum class Entry : uint32_t {
#define MEMSNAP_ENUMERATOR(name) name,
    MEMSNAP_DRIVER_ENTRIES(MEMSNAP_ENUMERATOR)
#undef MEMSNAP_ENUMERATOR
    count
};
inline constexpr uint32_t kEntryCount = static_cast<uint32_t>(Entry::count);

// Written once, by the first thread that sees the driver; valid in forked children.
extern std::atomic<void*> g_driver_originals[kEntryCount];

template <Entry entry, typename Function>
Function* original() {
    return reinterpret_cast<Function*>(
        g_driver_originals[static_cast<uint32_t>(entry)].load(std::memory_order_acquire));
}

// Our functions in their places.
#define MEMSNAP_DECLARATION(name) void* wrapper_of_##name();
MEMSNAP_DRIVER_ENTRIES(MEMSNAP_DECLARATION)
#undef MEMSNAP_DECLARATION

// Heads the definition of the wrapper of one entry point.
#define MEMSNAP_DRIVER_WRAPPER(name, parameters)      \
    static int wrap_##name parameters;                \
    void* wrapper_of_##name() {                       \
        return reinterpret_cast<void*>(&wrap_##name); \
    }                                                 \
    static int wrap_##name parameters

// A whole one: what the call means, as a Call or an Ending.
#define MEMSNAP_DRIVER_ROW(name, parameters, arguments, description)                           \
    MEMSNAP_DRIVER_WRAPPER(name, parameters) {                                                 \
        return record_call(description, caller_index(__builtin_return_address(0)),             \
                           [&] { return original<Entry::name, int parameters>() arguments; }); \
    }

}  // namespace memsnap::recorder
