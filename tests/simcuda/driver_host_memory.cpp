// SPDX-License-Identifier: Apache-2.0
// Memory that is not the device's: page-locked, registered and managed. Rule: it is never charged to a
// device. (Real managed memory moves to the device when kernels touch it; here kernels touch nothing.)
#include <sys/mman.h>

#include "driver_state.h"

using namespace simcuda;

namespace {

CUresult allocate_host(Driver& state, CUctx_st& context, uint64_t bytes, MemoryKind kind, unsigned flags,
                       uint64_t* result) {
    const CUresult allowed = state.captures.check_unsafe_call();
    if (allowed != CUDA_SUCCESS) return allowed;
    if (bytes > UINT64_MAX - kGranularityBytes) return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t base = reserve_address_space(bytes, PROT_READ | PROT_WRITE);
    if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    state.memory.add({.base = base,
                      .bytes = bytes,
                      .reserved_bytes = bytes,
                      .kind = kind,
                      .device = context.device,
                      .context = &context,
                      .flags = flags});
    *result = base;
    return CUDA_SUCCESS;
}

CUresult free_kind(uint64_t base, MemoryKind kind, CUresult when_unknown) {
    return with_context([&](Driver& state, CUctx_st& context) {
        const MemoryRange* range = state.memory.find_base(base);
        if (range == nullptr || range->kind != kind) return when_unknown;
        synchronise_context(state, &context);
        free_range(state, base);
        return CUDA_SUCCESS;
    });
}

}  // namespace

extern "C" {

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        uint64_t base = 0;
        const CUresult result = allocate_host(state, context, bytes, MemoryKind::host, flags, &base);
        if (result == CUDA_SUCCESS) *pointer = reinterpret_cast<void*>(base);
        return result;
    });
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
    return cuMemHostAlloc(pointer, bytes, 0);
}

CUresult cuMemFreeHost(void* pointer) {
    return free_kind(reinterpret_cast<uint64_t>(pointer), MemoryKind::host, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        uint64_t base = 0;
        const CUresult result = allocate_host(state, context, bytes, MemoryKind::managed, flags, &base);
        if (result == CUDA_SUCCESS) *pointer = base;
        return result;
    });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        const auto base = reinterpret_cast<uint64_t>(pointer);
        if (state.memory.find(base) != nullptr) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        state.memory.add({.base = base,
                          .bytes = bytes,
                          .kind = MemoryKind::registered,
                          .device = context.device,
                          .context = &context,
                          .flags = flags});
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned int flags) {
    return cuMemHostRegister_v2(pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) {
    return free_kind(reinterpret_cast<uint64_t>(pointer), MemoryKind::registered,
                     CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device_pointer, void* pointer, unsigned int flags) {
    if (device_pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st&) {
        const auto address = reinterpret_cast<uint64_t>(pointer);
        if (state.memory.find(address) == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *device_pointer = address;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* pointer) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st&) {
        const MemoryRange* range = state.memory.find(reinterpret_cast<uint64_t>(pointer));
        if (range == nullptr || is_device_memory(range->kind)) return CUDA_ERROR_INVALID_VALUE;
        *flags = range->flags;
        return CUDA_SUCCESS;
    });
}

// Hints have no effect on memory that never moves.
CUresult cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice) {
    return with_context([](Driver&, CUctx_st&) { return CUDA_SUCCESS; });
}

CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation) {
    return cuMemAdvise(pointer, bytes, advice, 0);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned int, CUstream stream) {
    return with_context([&](Driver& state, CUctx_st& context) {
        return enqueue(state, context, stream, {.type = CU_GRAPH_NODE_TYPE_EMPTY});
    });
}

CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUdevice, CUstream stream) {
    return cuMemPrefetchAsync_v2(pointer, bytes, {}, 0, stream);
}

}  // extern "C"
