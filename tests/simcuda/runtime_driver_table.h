// SPDX-License-Identifier: Apache-2.0
// The driver's functions as the runtime holds them, one list: symbol, base name, version, flags.
// Rule: they are found as the real runtime finds them: dlopen("libcuda.so.1"), one
// dlsym("cuGetProcAddress_v2"), and every other one through that, by base name, version and flags, at the
// first CUDA call of the process.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

// X(member, base name, version, flags): `member` is the symbol of the ABI that this version must give.
#define SIMCUDA_DRIVER_FUNCTIONS(X)                                                        \
    X(cuInit, "cuInit", 2000, 0)                                                           \
    X(cuDriverGetVersion, "cuDriverGetVersion", 2020, 0)                                   \
    X(cuGetErrorString, "cuGetErrorString", 6000, 0)                                       \
    X(cuDeviceGet, "cuDeviceGet", 2000, 0)                                                 \
    X(cuDeviceGetCount, "cuDeviceGetCount", 2000, 0)                                       \
    X(cuDeviceGetName, "cuDeviceGetName", 2000, 0)                                         \
    X(cuDeviceGetUuid_v2, "cuDeviceGetUuid", 11040, 0)                                     \
    X(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020, 0)                                    \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000, 0)                               \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", 4010, 0)                                 \
    X(cuDeviceGetByPCIBusId, "cuDeviceGetByPCIBusId", 4010, 0)                             \
    X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", 4000, 0)                             \
    X(cuDeviceGetP2PAttribute, "cuDeviceGetP2PAttribute", 8000, 0)                         \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000, 0)                             \
    X(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess", 4000, 0)                           \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0)                       \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, 0)                     \
    X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, 0)                         \
    X(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 7000, 0)                   \
    X(cuDevicePrimaryCtxSetFlags_v2, "cuDevicePrimaryCtxSetFlags", 11000, 0)               \
    X(cuCtxGetCurrent, "cuCtxGetCurrent", 4000, 0)                                         \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000, 0)                                         \
    X(cuCtxGetDevice, "cuCtxGetDevice", 2000, 0)                                           \
    X(cuCtxSynchronize, "cuCtxSynchronize", 2000, 0)                                       \
    X(cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", 5050, 0)                 \
    X(cuCtxSetLimit, "cuCtxSetLimit", 3010, 0)                                             \
    X(cuCtxGetLimit, "cuCtxGetLimit", 3010, 0)                                             \
    X(cuMemAlloc_v2, "cuMemAlloc", 3020, 0)                                                \
    X(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0)                                      \
    X(cuMemFree_v2, "cuMemFree", 3020, 0)                                                  \
    X(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0)                                            \
    X(cuMemHostAlloc, "cuMemHostAlloc", 2020, 0)                                           \
    X(cuMemFreeHost, "cuMemFreeHost", 2000, 0)                                             \
    X(cuMemHostRegister_v2, "cuMemHostRegister", 6050, 0)                                  \
    X(cuMemHostUnregister, "cuMemHostUnregister", 4000, 0)                                 \
    X(cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", 3020, 0)                  \
    X(cuMemHostGetFlags, "cuMemHostGetFlags", 2030, 0)                                     \
    X(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0)                                     \
    X(cuMemAdvise_v2, "cuMemAdvise", 12020, 0)                                             \
    X(cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020, 0)                               \
    X(cuPointerGetAttributes, "cuPointerGetAttributes", 7000, 0)                           \
    X(cuArrayCreate_v2, "cuArrayCreate", 3020, 0)                                          \
    X(cuArray3DCreate_v2, "cuArray3DCreate", 3020, 0)                                      \
    X(cuArrayDestroy, "cuArrayDestroy", 2000, 0)                                           \
    X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000, 0)                           \
    X(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000, 0)                         \
    X(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0)                                        \
    X(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 2)                                   \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0)                        \
    X(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, 2)                   \
    X(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0)                                          \
    X(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 2)                                     \
    X(cuMemPoolCreate, "cuMemPoolCreate", 11020, 0)                                        \
    X(cuMemPoolDestroy, "cuMemPoolDestroy", 11020, 0)                                      \
    X(cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020, 0)                                        \
    X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", 11020, 0)                            \
    X(cuMemPoolGetAttribute, "cuMemPoolGetAttribute", 11020, 0)                            \
    X(cuMemPoolSetAccess, "cuMemPoolSetAccess", 11020, 0)                                  \
    X(cuMemPoolGetAccess, "cuMemPoolGetAccess", 11020, 0)                                  \
    X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020, 0)                    \
    X(cuDeviceGetMemPool, "cuDeviceGetMemPool", 11020, 0)                                  \
    X(cuDeviceSetMemPool, "cuDeviceSetMemPool", 11020, 0)                                  \
    X(cuMemGetDefaultMemPool, "cuMemGetDefaultMemPool", 13000, 0)                          \
    X(cuMemGetMemPool, "cuMemGetMemPool", 13000, 0)                                        \
    X(cuMemSetMemPool, "cuMemSetMemPool", 13000, 0)                                        \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010, 0)                                     \
    X(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000, 0)                               \
    X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010, 0)                                 \
    X(cuIpcGetEventHandle, "cuIpcGetEventHandle", 4010, 0)                                 \
    X(cuIpcOpenEventHandle, "cuIpcOpenEventHandle", 4010, 0)                               \
    X(cuMemcpy, "cuMemcpy", 4000, 0)                                                       \
    X(cuMemcpyAsync, "cuMemcpyAsync", 4000, 0)                                             \
    X(cuMemcpyPeer, "cuMemcpyPeer", 4000, 0)                                               \
    X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000, 0)                                     \
    X(cuMemcpy2D_v2, "cuMemcpy2D", 3020, 0)                                                \
    X(cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020, 0)                                      \
    X(cuMemsetD8_v2, "cuMemsetD8", 3020, 0)                                                \
    X(cuMemsetD8Async, "cuMemsetD8Async", 3020, 0)                                         \
    X(cuMemsetD2D8_v2, "cuMemsetD2D8", 3020, 0)                                            \
    X(cuMemsetD2D8Async, "cuMemsetD2D8Async", 3020, 0)                                     \
    X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050, 0)                   \
    X(cuStreamDestroy_v2, "cuStreamDestroy", 4000, 0)                                      \
    X(cuStreamQuery, "cuStreamQuery", 2000, 0)                                             \
    X(cuStreamSynchronize, "cuStreamSynchronize", 2000, 0)                                 \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", 3020, 0)                                     \
    X(cuStreamGetPriority, "cuStreamGetPriority", 5050, 0)                                 \
    X(cuStreamGetFlags, "cuStreamGetFlags", 5050, 0)                                       \
    X(cuStreamGetId, "cuStreamGetId", 12000, 0)                                            \
    X(cuStreamGetDevice, "cuStreamGetDevice", 12080, 0)                                    \
    X(cuStreamAddCallback, "cuStreamAddCallback", 5000, 0)                                 \
    X(cuLaunchHostFunc, "cuLaunchHostFunc", 10000, 0)                                      \
    X(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, 0)                           \
    X(cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030, 0)                \
    X(cuStreamEndCapture, "cuStreamEndCapture", 10000, 0)                                  \
    X(cuStreamIsCapturing, "cuStreamIsCapturing", 10000, 0)                                \
    X(cuStreamGetCaptureInfo_v3, "cuStreamGetCaptureInfo", 12030, 0)                       \
    X(cuStreamUpdateCaptureDependencies_v2, "cuStreamUpdateCaptureDependencies", 12030, 0) \
    X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010, 0)    \
    X(cuEventCreate, "cuEventCreate", 2000, 0)                                             \
    X(cuEventDestroy_v2, "cuEventDestroy", 4000, 0)                                        \
    X(cuEventRecordWithFlags, "cuEventRecordWithFlags", 11010, 0)                          \
    X(cuEventQuery, "cuEventQuery", 2000, 0)                                               \
    X(cuEventSynchronize, "cuEventSynchronize", 2000, 0)                                   \
    X(cuEventElapsedTime_v2, "cuEventElapsedTime", 12080, 0)                               \
    X(cuGraphCreate, "cuGraphCreate", 10000, 0)                                            \
    X(cuGraphDestroy, "cuGraphDestroy", 10000, 0)                                          \
    X(cuGraphGetNodes, "cuGraphGetNodes", 10000, 0)                                        \
    X(cuGraphGetRootNodes, "cuGraphGetRootNodes", 10000, 0)                                \
    X(cuGraphNodeGetType, "cuGraphNodeGetType", 10000, 0)                                  \
    X(cuGraphNodeGetDependencies_v2, "cuGraphNodeGetDependencies", 12030, 0)               \
    X(cuGraphAddEmptyNode, "cuGraphAddEmptyNode", 10000, 0)                                \
    X(cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", 11040, 0)                          \
    X(cuGraphAddMemFreeNode, "cuGraphAddMemFreeNode", 11040, 0)                            \
    X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040, 0)                \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, 0)                                  \
    X(cuGraphUpload, "cuGraphUpload", 11010, 0)                                            \
    X(cuGraphLaunch, "cuGraphLaunch", 10000, 0)                                            \
    X(cuGraphDebugDotPrint, "cuGraphDebugDotPrint", 11030, 0)                              \
    X(cuUserObjectCreate, "cuUserObjectCreate", 11030, 0)                                  \
    X(cuUserObjectRetain, "cuUserObjectRetain", 11030, 0)                                  \
    X(cuUserObjectRelease, "cuUserObjectRelease", 11030, 0)                                \
    X(cuGraphRetainUserObject, "cuGraphRetainUserObject", 11030, 0)                        \
    X(cuGraphReleaseUserObject, "cuGraphReleaseUserObject", 11030, 0)                      \
    X(cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", 11040, 0)                              \
    X(cuDeviceGetGraphMemAttribute, "cuDeviceGetGraphMemAttribute", 11040, 0)              \
    X(cuDeviceSetGraphMemAttribute, "cuDeviceSetGraphMemAttribute", 11040, 0)              \
    X(cuLibraryLoadData, "cuLibraryLoadData", 12000, 0)                                    \
    X(cuLibraryUnload, "cuLibraryUnload", 12000, 0)                                        \
    X(cuLibraryGetKernel, "cuLibraryGetKernel", 12000, 0)                                  \
    X(cuLaunchKernel, "cuLaunchKernel", 4000, 0)                                           \
    X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, 0)                     \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,                                \
      "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 7000, 0)

namespace simcuda {

struct DriverTable {
#define SIMCUDA_MEMBER(member, name, version, flags) decltype(&::member) member = nullptr;
    SIMCUDA_DRIVER_FUNCTIONS(SIMCUDA_MEMBER)
#undef SIMCUDA_MEMBER
    // The resolver in both its ABIs, as the real runtime holds it; cudaGetDriverEntryPoint* go through these.
    decltype(&::cuGetProcAddress) get_proc_address_4 = nullptr;
    decltype(&::cuGetProcAddress_v2) get_proc_address_5 = nullptr;
    CUresult load_result = CUDA_ERROR_NOT_INITIALIZED;  // of loading the driver and of cuInit
};

// Loads the driver at the first call of the process.
const DriverTable& driver_table();

}  // namespace simcuda
