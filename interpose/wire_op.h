// SPDX-License-Identifier: Apache-2.0
//
// The calls a record can speak of: part of wire.h, which is the only file that includes it. Numbers are never
// reused or changed.
#pragma once

#include <cstdint>

namespace memsnap::wire {

// The call. Numbers are for ever. In Kind::ok `extra` is: map: the handle mapped; async: the stream; pool
// ops: the pool.
// clang-format off
enum class Op : uint8_t {
    none = 0, cudaMalloc = 1, cudaMallocPitch = 2, cudaMalloc3D = 3, cudaMallocArray = 4,
    cudaMalloc3DArray = 5, cudaMallocMipmappedArray = 6, cudaMallocManaged = 7, cudaMallocHost = 8,
    cudaHostAlloc = 9, cudaHostRegister = 10, cudaMallocAsync = 11, cudaMallocFromPoolAsync = 12,
    cudaIpcOpenMemHandle = 13, cudaImportExternalMemory = 14, cudaExternalMemoryGetMappedBuffer = 15,
    cudaExternalMemoryGetMappedMipmappedArray = 16, cudaMemPoolCreate = 17,
    cudaMemPoolImportFromShareableHandle = 18, cudaMemPoolImportPointer = 19, cudaGraphAddMemAllocNode = 20,
    cudaFree = 32, cudaFreeAsync = 33, cudaFreeHost = 34, cudaHostUnregister = 35, cudaFreeArray = 36,
    cudaFreeMipmappedArray = 37, cudaIpcCloseMemHandle = 38, cudaDestroyExternalMemory = 39,
    cudaMemPoolDestroy = 40, cudaMemPoolTrimTo = 41, cudaGraphAddMemFreeNode = 42,
    cudaDeviceGraphMemTrim = 43, cudaDeviceReset = 44,
    cudaIpcGetMemHandle = 48, cudaMemPoolSetAttribute = 49, cudaMemPoolExportToShareableHandle = 50,
    cudaMemPoolExportPointer = 51, cudaDeviceSetMemPool = 52, cudaMemGetInfo = 53,
    cuMemAlloc = 96, cuMemAllocPitch = 97, cuMemAllocManaged = 98, cuMemAllocAsync = 99,
    cuMemAllocFromPoolAsync = 100, cuMemAllocHost = 101, cuMemHostAlloc = 102, cuMemHostRegister = 103,
    cuArrayCreate = 104, cuArray3DCreate = 105, cuMipmappedArrayCreate = 106, cuMemAddressReserve = 107,
    cuMemCreate = 108, cuMemMap = 109, cuMemRetainAllocationHandle = 110,
    cuMemImportFromShareableHandle = 111, cuIpcOpenMemHandle = 112, cuImportExternalMemory = 113,
    cuExternalMemoryGetMappedBuffer = 114, cuExternalMemoryGetMappedMipmappedArray = 115,
    cuMemPoolCreate = 116, cuMemPoolImportFromShareableHandle = 117, cuMemPoolImportPointer = 118,
    cuMulticastCreate = 119, cuMulticastBindMem = 120, cuMulticastBindAddr = 121,
    cuGraphAddMemAllocNode = 122, cuCtxCreate = 123, cuDevicePrimaryCtxRetain = 124, cuGreenCtxCreate = 125,
    cuMemMapArrayAsync = 126,
    cuMemFree = 160, cuMemFreeAsync = 161, cuMemFreeHost = 162, cuMemHostUnregister = 163,
    cuArrayDestroy = 164, cuMipmappedArrayDestroy = 165, cuMemAddressFree = 166, cuMemRelease = 167,
    cuMemUnmap = 168, cuIpcCloseMemHandle = 169, cuDestroyExternalMemory = 170, cuMemPoolDestroy = 171,
    cuMemPoolTrimTo = 172, cuMulticastUnbind = 173, cuGraphAddMemFreeNode = 174, cuDeviceGraphMemTrim = 175,
    cuCtxDestroy = 176, cuDevicePrimaryCtxRelease = 177, cuDevicePrimaryCtxReset = 178,
    cuGreenCtxDestroy = 179,
    cuMemSetAccess = 192, cuIpcGetMemHandle = 193, cuMemExportToShareableHandle = 194,
    cuMemPoolSetAttribute = 195, cuMemPoolExportToShareableHandle = 196, cuMemPoolExportPointer = 197,
    cuDeviceSetMemPool = 198, cuMemGetInfo = 199, cuGraphLaunch = 200,
};
// clang-format on

}  // namespace memsnap::wire
