// SPDX-License-Identifier: Apache-2.0
// Device memory: cuMemAlloc and its kin, and questions about pointers.
// Rule: see driver_memory.h. Freeing what was not allocated is CUDA_ERROR_INVALID_VALUE and changes nothing
// (CUDA driver API, "Memory Management").
#include "driver_memory.h"

#include <sys/mman.h>

#include "driver_state.h"
#include "simcuda.h"

namespace simcuda {

uint64_t reserve_address_space(uint64_t bytes, int protection) {
    const uint64_t wanted = round_up(bytes, kGranularityBytes);
    const uint64_t padded = wanted + kGranularityBytes;
    void* mapping = mmap(nullptr, padded, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return 0;
    const auto start = reinterpret_cast<uint64_t>(mapping);
    const uint64_t base = round_up(start, kGranularityBytes);
    if (base > start) munmap(mapping, base - start);
    const uint64_t tail = start + padded - (base + wanted);
    if (tail > 0) munmap(reinterpret_cast<void*>(base + wanted), tail);
    return base;
}

void release_address_space(uint64_t base, uint64_t bytes) {
    munmap(reinterpret_cast<void*>(base), round_up(bytes, kGranularityBytes));
}

MemoryRange* MemoryTable::find(uint64_t address) {
    auto next = ranges.upper_bound(address);
    if (next == ranges.begin()) return nullptr;
    MemoryRange& range = std::prev(next)->second;
    return address - range.base < range.bytes ? &range : nullptr;
}

MemoryRange* MemoryTable::find_base(uint64_t base) {
    const auto found = ranges.find(base);
    return found == ranges.end() ? nullptr : &found->second;
}

MemoryRange& MemoryTable::add(MemoryRange range) {
    range.serial = next_serial++;
    return ranges[range.base] = range;
}

CUresult to_result(Grant grant) {
    return grant == Grant::granted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void free_range(Driver& state, uint64_t base) {
    const MemoryRange range = *state.memory.find_base(base);
    if (range.kind != MemoryKind::graph) state.memory.ranges.erase(base);
    switch (range.kind) {
        case MemoryKind::device:
            state.session->drop_export(base);
            release_address_space(base, range.reserved_bytes);
            state.session->give_back(session_device(state, range.device), range.reserved_bytes);
            return;
        case MemoryKind::imported:
        case MemoryKind::foreign:
        case MemoryKind::managed:
        case MemoryKind::host:
            release_address_space(base, range.reserved_bytes);
            return;
        case MemoryKind::pool:
            state.pools.free(state, base, Position{});
            return;
        case MemoryKind::graph:
            state.graphs.end_allocation(base);
            return;
        case MemoryKind::mapped:
        case MemoryKind::registered:
            return;
    }
}

void free_memory_of(Driver& state, CUcontext context) {
    std::vector<uint64_t> bases;
    for (const auto& [base, range] : state.memory.ranges) {
        const bool outlives = range.kind == MemoryKind::pool || range.kind == MemoryKind::graph ||
                              range.kind == MemoryKind::mapped;
        if (range.context == context && !outlives) bases.push_back(base);
    }
    for (const uint64_t base : bases)
        free_range(state, base);
}

}  // namespace simcuda

using namespace simcuda;

namespace {

CUresult allocate_device(Driver& state, CUctx_st& context, uint64_t bytes, CUdeviceptr* result) {
    if (bytes > UINT64_MAX - kGranularityBytes) return CUDA_ERROR_OUT_OF_MEMORY;
    const int device = session_device(state, context.device);
    const uint64_t charged = round_up(bytes, kGranularityBytes);
    const Grant grant = state.session->charge(device, charged);
    if (grant != Grant::granted) return to_result(grant);
    const uint64_t base = reserve_address_space(charged, PROT_READ | PROT_WRITE);
    if (base == 0) {
        state.session->give_back(device, charged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    state.memory.add({.base = base,
                      .bytes = bytes,
                      .reserved_bytes = charged,
                      .kind = MemoryKind::device,
                      .device = context.device,
                      .context = &context});
    *result = base;
    return CUDA_SUCCESS;
}

bool is_freed_by_mem_free(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::device:
        case MemoryKind::foreign:
        case MemoryKind::managed:
        case MemoryKind::pool:
        case MemoryKind::graph:
            return true;
        case MemoryKind::imported:
        case MemoryKind::mapped:
        case MemoryKind::host:
        case MemoryKind::registered:
            return false;
    }
    __builtin_unreachable();
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        const CUresult allowed = state.captures.check_unsafe_call();
        return allowed == CUDA_SUCCESS ? allocate_device(state, context, bytes, pointer) : allowed;
    });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                            unsigned int element) {
    if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    *pitch = round_up(width, 512);
    return cuMemAlloc_v2(pointer, *pitch * height);
}

// Frees wait for the device's work, as the real cuMemFree does.
CUresult cuMemFree_v2(CUdeviceptr pointer) {
    if (pointer == 0) return CUDA_SUCCESS;
    return with_context([&](Driver& state, CUctx_st& context) {
        const MemoryRange* range = state.memory.find_base(pointer);
        if (range == nullptr || !is_freed_by_mem_free(range->kind)) return CUDA_ERROR_INVALID_VALUE;
        if (range->kind == MemoryKind::graph && !state.graphs.memory.at(pointer).is_live)
            return CUDA_ERROR_INVALID_VALUE;
        const CUresult allowed = state.captures.check_unsafe_call();
        if (allowed != CUDA_SUCCESS) return allowed;
        synchronise_context(state, &context);
        free_range(state, pointer);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    return with_context([&](Driver& state, CUctx_st& context) {
        const DeviceUsage usage = state.session->usage(session_device(state, context.device));
        if (free_bytes != nullptr) *free_bytes = usage.free_bytes;
        if (total_bytes != nullptr) *total_bytes = usage.total_bytes;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
    return with_context([&](Driver& state, CUctx_st&) {
        const MemoryRange* range = state.memory.find(pointer);
        if (range == nullptr || !is_device_memory(range->kind)) return CUDA_ERROR_NOT_FOUND;
        if (base != nullptr) *base = range->base;
        if (bytes != nullptr) *bytes = range->bytes;
        return CUDA_SUCCESS;
    });
}

// Test knobs, see README. They answer 0 when done and a CUresult otherwise.
int simcuda_set_external_bytes(int device, uint64_t bytes) {
    SharedState* session = SharedState::get();
    if (session == nullptr) return CUDA_ERROR_NO_DEVICE;
    return session->set_external(device, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int simcuda_refuse(int device, uint64_t next_attempts, uint64_t min_bytes) {
    SharedState* session = SharedState::get();
    if (session == nullptr) return CUDA_ERROR_NO_DEVICE;
    return session->refuse(device, next_attempts, min_bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
