// SPDX-License-Identifier: Apache-2.0
// Reservations, physical memory and mappings. Rule: see driver_vmm.h; whatever the documentation calls
// invalid is CUDA_ERROR_INVALID_VALUE and changes nothing (CUDA driver API, "Virtual Memory Management").
#include "driver_vmm.h"

#include <sys/mman.h>

#include <algorithm>

#include "driver_state.h"

namespace simcuda {

PhysicalMemory* VmmTable::find(CUmemGenericAllocationHandle handle) {
    const auto found = physical.find(handle);
    return found == physical.end() || found->second.handle_count == 0 ? nullptr : &found->second;
}

CUmemGenericAllocationHandle VmmTable::add(PhysicalMemory memory) {
    memory.handle_count = 1;
    physical[next_handle] = memory;
    return next_handle++;
}

bool VmmTable::is_reserved(uint64_t base, uint64_t bytes) const {
    auto next = reservations.upper_bound(base);
    if (next == reservations.begin()) return false;
    const auto& [start, reserved_bytes] = *std::prev(next);
    return base - start <= reserved_bytes && bytes <= reserved_bytes - (base - start);
}

bool VmmTable::is_mapped(uint64_t base, uint64_t bytes) const {
    const uint64_t end = base + bytes;
    for (auto mapping = mappings.find(base); mapping != mappings.end(); mapping = mappings.find(base)) {
        base += mapping->second.bytes;
        if (base >= end) break;
    }
    return base == end && bytes > 0;
}

bool VmmTable::overlaps_mapping(uint64_t base, uint64_t bytes) const {
    const auto next = mappings.lower_bound(base + bytes);
    if (next == mappings.begin()) return false;
    const auto& [start, mapping] = *std::prev(next);
    return start + mapping.bytes > base;
}

void VmmTable::drop_if_unused(Driver& state, CUmemGenericAllocationHandle handle) {
    const PhysicalMemory& memory = physical.at(handle);
    if (memory.handle_count > 0 || memory.mapping_count > 0) return;
    if (memory.shared_id != 0) {
        state.session->drop_shared(memory.shared_id);
    } else if (memory.properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        state.session->give_back(session_device(state, memory.properties.location.id), memory.bytes);
    }
    physical.erase(handle);
}

}  // namespace simcuda

using namespace simcuda;

namespace {

bool is_granular(uint64_t value) {
    return value % kGranularityBytes == 0;
}

// Back to a bare reservation: no access, no contents.
void drop_contents(uint64_t base, uint64_t bytes) {
    mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void unmap_one(Driver& state, uint64_t base) {
    const Mapping mapping = state.vmm.mappings.at(base);
    state.vmm.mappings.erase(base);
    state.memory.ranges.erase(base);
    drop_contents(base, mapping.bytes);
    --state.vmm.physical.at(mapping.handle).mapping_count;
    state.vmm.drop_if_unused(state, mapping.handle);
}

CUresult check_properties(const Driver& state, const CUmemAllocationProp& properties) {
    if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    switch (static_cast<int>(properties.location.type)) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            return is_device(state, properties.location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
    if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *granularity = kGranularityBytes;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
    const bool is_power = (alignment & (alignment - 1)) == 0;
    if (pointer == nullptr || bytes == 0 || bytes % kPageBytes != 0 || !is_power || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (alignment > kGranularityBytes) return CUDA_ERROR_NOT_SUPPORTED;
    return with_driver([&](Driver& state) {
        const uint64_t base = reserve_address_space(bytes, PROT_NONE);
        if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        state.vmm.reservations[base] = bytes;
        *pointer = base;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
    return with_driver([&](Driver& state) {
        const auto found = state.vmm.reservations.find(pointer);
        if (found == state.vmm.reservations.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
        if (state.vmm.overlaps_mapping(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
        state.vmm.reservations.erase(found);
        release_address_space(pointer, bytes);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
    if (handle == nullptr || properties == nullptr || bytes == 0 || !is_granular(bytes) || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return with_driver([&](Driver& state) {
        const CUresult valid = check_properties(state, *properties);
        if (valid != CUDA_SUCCESS) return valid;
        if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
            const Grant grant = state.session->charge(session_device(state, properties->location.id), bytes);
            if (grant != Grant::granted) return to_result(grant);
        }
        *handle = state.vmm.add({.bytes = bytes, .properties = *properties});
        return CUDA_SUCCESS;
    });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return with_driver([&](Driver& state) {
        PhysicalMemory* memory = state.vmm.find(handle);
        if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
        --memory->handle_count;
        state.vmm.drop_if_unused(state, handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    if (!is_granular(pointer) || !is_granular(bytes) || bytes == 0 || offset != 0 || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return with_driver([&](Driver& state) {
        PhysicalMemory* memory = state.vmm.find(handle);
        if (memory == nullptr || bytes > memory->bytes) return CUDA_ERROR_INVALID_VALUE;
        if (!state.vmm.is_reserved(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
        if (state.vmm.overlaps_mapping(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
        ++memory->mapping_count;
        state.vmm.mappings[pointer] = {bytes, handle};
        const bool on_device = memory->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
        const int device = on_device ? memory->properties.location.id : 0;
        state.memory.add({.base = pointer,
                          .bytes = bytes,
                          .reserved_bytes = bytes,
                          .kind = MemoryKind::mapped,
                          .device = device,
                          .context = state.primary_contexts[static_cast<size_t>(device)].get()});
        return CUDA_SUCCESS;
    });
}

// Several adjacent mappings may go in one call; part of a mapping may not.
CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
    return with_driver([&](Driver& state) {
        if (!state.vmm.is_mapped(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
        for (uint64_t at = pointer; at < pointer + bytes;) {
            const uint64_t mapping_bytes = state.vmm.mappings.at(at).bytes;
            unmap_one(state, at);
            at += mapping_bytes;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count) {
    if (access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        if (!state.vmm.is_mapped(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
        int protection = PROT_NONE;
        for (size_t index = 0; index < count; ++index) {
            if (access[index].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) protection |= PROT_READ;
            if (access[index].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                protection |= PROT_READ | PROT_WRITE;
        }
        mprotect(reinterpret_cast<void*>(pointer), bytes, protection);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const MemoryRange* range = state.memory.find(reinterpret_cast<uint64_t>(address));
        if (range == nullptr || range->kind != MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
        *handle = state.vmm.mappings.at(range->base).handle;
        ++state.vmm.physical.at(*handle).handle_count;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const PhysicalMemory* memory = state.vmm.find(handle);
        if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *properties = memory->properties;
        return CUDA_SUCCESS;
    });
}

}  // extern "C"
