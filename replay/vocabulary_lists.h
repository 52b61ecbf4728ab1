// SPDX-License-Identifier: Apache-2.0
//
// The lists behind vocabulary.h: X(name, wire number[, more]). The rule: a name is spelt once, here.
#pragma once

// clang-format off
#define MEMSNAP_KINDS(X)                                                                        \
    X(none, 0) X(block_alloc, 1) X(block_free, 2) X(block_oom, 3) X(birth, 4)                   \
    X(try_call, 16) X(ok, 17) X(fail, 18) X(free, 19) X(free_fail, 20) X(mem_info, 21)          \
    X(blind, 22) X(operation, 23)                                                               \
    X(device_sample, 32) X(process_sample, 33) X(neighbour, 34)                                 \
    X(phase_begin, 48) X(phase_end, 49) X(mark, 50) X(step, 51) X(note, 52) X(category, 53)     \
    X(cap, 54)                                                                                  \
    X(tap_alloc, 64) X(tap_free_requested, 65) X(tap_free_completed, 66)                        \
    X(tap_segment_alloc, 67) X(tap_segment_free, 68) X(tap_segment_map, 69)                     \
    X(tap_segment_unmap, 70) X(tap_oom, 71)                                                     \
    X(keyframe, 80) X(initial, 81) X(initial_segment, 82) X(cupti_memory, 83)

#define MEMSNAP_OBJECTS(X)                                                                      \
    X(none, 0) X(block, 1) X(device, 2) X(managed, 3) X(host, 4) X(array, 5) X(async, 6)        \
    X(vmm_handle, 7) X(mapping, 8) X(reservation, 9) X(pool, 10) X(import, 11)                  \
    X(multicast, 12) X(context, 13) X(graph_node, 14)

// X(name, number, role, object class)
#define MEMSNAP_OPS(X)                                                                          \
    X(none, 0, none, none)                                                                      \
    X(cudaMalloc, 1, allocates, device) X(cudaMallocPitch, 2, allocates, device)                \
    X(cudaMalloc3D, 3, allocates, device) X(cudaMallocArray, 4, allocates, array)               \
    X(cudaMalloc3DArray, 5, allocates, array) X(cudaMallocMipmappedArray, 6, allocates, array)  \
    X(cudaMallocManaged, 7, allocates, managed) X(cudaMallocHost, 8, allocates, host)           \
    X(cudaHostAlloc, 9, allocates, host) X(cudaHostRegister, 10, allocates, host)               \
    X(cudaMallocAsync, 11, allocates, async) X(cudaMallocFromPoolAsync, 12, allocates, async)   \
    X(cudaIpcOpenMemHandle, 13, allocates, import)                                              \
    X(cudaImportExternalMemory, 14, allocates, import)                                          \
    X(cudaExternalMemoryGetMappedBuffer, 15, allocates, import)                                 \
    X(cudaExternalMemoryGetMappedMipmappedArray, 16, allocates, array)                          \
    X(cudaMemPoolCreate, 17, allocates, pool)                                                   \
    X(cudaMemPoolImportFromShareableHandle, 18, allocates, pool)                                \
    X(cudaMemPoolImportPointer, 19, allocates, import)                                          \
    X(cudaGraphAddMemAllocNode, 20, allocates, graph_node)                                      \
    X(cudaFree, 32, frees, device) X(cudaFreeAsync, 33, frees, async)                           \
    X(cudaFreeHost, 34, frees, host) X(cudaHostUnregister, 35, frees, host)                     \
    X(cudaFreeArray, 36, frees, array) X(cudaFreeMipmappedArray, 37, frees, array)              \
    X(cudaIpcCloseMemHandle, 38, frees, import) X(cudaDestroyExternalMemory, 39, frees, import) \
    X(cudaMemPoolDestroy, 40, frees, pool) X(cudaMemPoolTrimTo, 41, other, none)                \
    X(cudaGraphAddMemFreeNode, 42, frees, graph_node)                                           \
    X(cudaDeviceGraphMemTrim, 43, other, none) X(cudaDeviceReset, 44, frees, context)            \
    X(cudaIpcGetMemHandle, 48, other, none) X(cudaMemPoolSetAttribute, 49, other, none)         \
    X(cudaMemPoolExportToShareableHandle, 50, other, none)                                      \
    X(cudaMemPoolExportPointer, 51, other, none) X(cudaDeviceSetMemPool, 52, other, none)       \
    X(cudaMemGetInfo, 53, other, none)                                                          \
    X(cuMemAlloc, 96, allocates, device) X(cuMemAllocPitch, 97, allocates, device)              \
    X(cuMemAllocManaged, 98, allocates, managed) X(cuMemAllocAsync, 99, allocates, async)       \
    X(cuMemAllocFromPoolAsync, 100, allocates, async) X(cuMemAllocHost, 101, allocates, host)   \
    X(cuMemHostAlloc, 102, allocates, host) X(cuMemHostRegister, 103, allocates, host)          \
    X(cuArrayCreate, 104, allocates, array) X(cuArray3DCreate, 105, allocates, array)           \
    X(cuMipmappedArrayCreate, 106, allocates, array)                                            \
    X(cuMemAddressReserve, 107, allocates, reservation)                                         \
    X(cuMemCreate, 108, allocates, vmm_handle) X(cuMemMap, 109, allocates, mapping)             \
    X(cuMemRetainAllocationHandle, 110, allocates, vmm_handle)                                  \
    X(cuMemImportFromShareableHandle, 111, allocates, vmm_handle)                               \
    X(cuIpcOpenMemHandle, 112, allocates, import) X(cuImportExternalMemory, 113, allocates, import) \
    X(cuExternalMemoryGetMappedBuffer, 114, allocates, import)                                 \
    X(cuExternalMemoryGetMappedMipmappedArray, 115, allocates, array)                            \
    X(cuMemPoolCreate, 116, allocates, pool)                                                    \
    X(cuMemPoolImportFromShareableHandle, 117, allocates, pool)                                 \
    X(cuMemPoolImportPointer, 118, allocates, import)                                           \
    X(cuMulticastCreate, 119, allocates, multicast) X(cuMulticastBindMem, 120, other, none)     \
    X(cuMulticastBindAddr, 121, other, none)                                                    \
    X(cuGraphAddMemAllocNode, 122, allocates, graph_node)                                       \
    X(cuCtxCreate, 123, allocates, context) X(cuDevicePrimaryCtxRetain, 124, allocates, context) \
    X(cuGreenCtxCreate, 125, allocates, context) X(cuMemMapArrayAsync, 126, other, none)        \
    X(cuMemFree, 160, frees, device) X(cuMemFreeAsync, 161, frees, async)                       \
    X(cuMemFreeHost, 162, frees, host) X(cuMemHostUnregister, 163, frees, host)                 \
    X(cuArrayDestroy, 164, frees, array) X(cuMipmappedArrayDestroy, 165, frees, array)          \
    X(cuMemAddressFree, 166, frees, reservation) X(cuMemRelease, 167, frees, vmm_handle)        \
    X(cuMemUnmap, 168, frees, mapping) X(cuIpcCloseMemHandle, 169, frees, import)               \
    X(cuDestroyExternalMemory, 170, frees, import) X(cuMemPoolDestroy, 171, frees, pool)        \
    X(cuMemPoolTrimTo, 172, other, none) X(cuMulticastUnbind, 173, other, none)                 \
    X(cuGraphAddMemFreeNode, 174, frees, graph_node) X(cuDeviceGraphMemTrim, 175, other, none)  \
    X(cuCtxDestroy, 176, frees, context) X(cuDevicePrimaryCtxRelease, 177, frees, context)      \
    X(cuDevicePrimaryCtxReset, 178, frees, context) X(cuGreenCtxDestroy, 179, frees, context)      \
    X(cuMemSetAccess, 192, other, none) X(cuIpcGetMemHandle, 193, other, none)                  \
    X(cuMemExportToShareableHandle, 194, other, none) X(cuMemPoolSetAttribute, 195, other, none) \
    X(cuMemPoolExportToShareableHandle, 196, other, none)                                       \
    X(cuMemPoolExportPointer, 197, other, none) X(cuDeviceSetMemPool, 198, other, none)         \
    X(cuMemGetInfo, 199, other, none) X(cuGraphLaunch, 200, other, none)

// Of boundaries, and of ranges.
#define MEMSNAP_BOUNDARY_FAMILIES(X) X(none, 0) X(step, 1) X(optimizer, 2) X(range, 3) X(module, 4)
#define MEMSNAP_FAMILIES(X) MEMSNAP_BOUNDARY_FAMILIES(X) X(collection, 5)
#define MEMSNAP_CATEGORIES(X)                                                                   \
    X(none, 0) X(parameter, 1) X(gradient, 2) X(optimizer_state, 3) X(buffer, 4) X(input, 5)    \
    X(activation, 6)
#define MEMSNAP_CAP_SOURCES(X) X(none, 0) X(memory_fraction, 1) X(user, 2)
#define MEMSNAP_BLINDS(X)                                                                       \
    X(none, 0) X(deepbind, 1) X(dlmopen, 2) X(unknown_entry_point, 3) X(resolver_bypassed, 4)   \
    X(original_missing, 5)
#define MEMSNAP_TAP_STATES(X) X(untold, 0) X(attached, 1) X(missing, 2) X(refused, 3) X(off, 4)
#define MEMSNAP_SAMPLINGS(X)                                                                    \
    X(unknown, 0) X(nvml, 1) X(off, 2) X(nvml_missing, 3) X(nvml_failed, 4)
#define MEMSNAP_STACK_WISHES(X) X(off, 0) X(automatic, 1) X(python, 2) X(native, 3) X(both, 4)
#define MEMSNAP_PYTHON_STACKS(X)                                                                \
    X(none, 0) X(waiting, 1) X(walking, 2) X(unknown, 3) X(threaded, 4)
#define MEMSNAP_NATIVE_STACKS(X) X(none, 0) X(walking, 1) X(missing, 2)
#define MEMSNAP_LIBRARY_ROLES(X)                                                                \
    X(unknown, 0) X(torch_allocator, 1) X(torch, 2) X(cuda_runtime, 3) X(cuda_driver, 4)        \
    X(program, 5)
#define MEMSNAP_CLOCK_SOURCES(X) X(unknown, 0) X(monotonic_ns, 1) X(x86_tsc, 2) X(arm_cntvct, 3)
#define MEMSNAP_START_MODES(X) X(from_birth, 0) X(late, 1)
#define MEMSNAP_ORIGINS(X) X(recorder, 0) X(torch_snapshot, 1) X(profiler_trace, 2)
#define MEMSNAP_ARM_STATES(X) X(recording, 0) X(cold, 1) X(standby, 2)
#define MEMSNAP_CHANNELS(X) X(preloaded, 0) X(injected, 1) X(attached, 2) X(detached, 3)
#define MEMSNAP_JOB_KEYS(X) X(none, 0) X(launcher, 1) X(session, 2)
#define MEMSNAP_TROUBLES(X)                                                                     \
    X(none, 0) X(create_failed, 1) X(no_space, 2) X(original_missing, 3) X(layout_unknown, 4)   \
    X(table_full, 5) X(threads_full, 6)
// clang-format on
