// SPDX-License-Identifier: Apache-2.0
// Multicast objects. Rule: one takes no memory, binding takes none either; its handle is mapped and released
// like one of cuMemCreate; memory is bound by its device, at offsets that stay free of each other, and
// unbound with the same offset and size (CUDA driver API, "Multicast Object Management").
#include "driver_state.h"

using namespace simcuda;

namespace {

template <typename Body>
CUresult with_multicast(CUmemGenericAllocationHandle handle, Body body) {
    return with_driver([&](Driver& state) {
        PhysicalMemory* found = state.vmm.find(handle);
        return found != nullptr && found->is_multicast ? body(state, *found) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult bind(PhysicalMemory& multicast, uint64_t offset, const PhysicalMemory& memory, uint64_t bytes) {
    const CUdevice device = memory.properties.location.id;
    const bool fits = bytes > 0 && bytes % kGranularityBytes == 0 && offset % kGranularityBytes == 0 &&
                      bytes <= memory.bytes && offset <= multicast.bytes && bytes <= multicast.bytes - offset;
    if (!fits || memory.is_multicast || !multicast.team.contains(device)) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& [place, length] : multicast.bound) {
        const bool apart = place.second >= offset + bytes || place.second + length <= offset;
        if (place.first == device && !apart) return CUDA_ERROR_INVALID_VALUE;
    }
    multicast.bound[{device, offset}] = bytes;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* properties,
                                   CUmulticastGranularity_flags) {
    if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *granularity = kGranularityBytes;
    return CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* properties) {
    if (handle == nullptr || properties == nullptr || properties->numDevices == 0 || properties->size == 0 ||
        properties->size % kGranularityBytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return with_driver([&](Driver& state) {
        PhysicalMemory multicast;
        multicast.bytes = properties->size;
        multicast.is_multicast = true;
        *handle = state.vmm.add(multicast);
        return CUDA_SUCCESS;
    });
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device) {
    return with_multicast(handle, [&](Driver& state, PhysicalMemory& multicast) {
        if (!is_device(state, device)) return CUDA_ERROR_INVALID_DEVICE;
        return multicast.team.insert(device).second ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                            CUmemGenericAllocationHandle bound, size_t bound_offset, size_t bytes,
                            unsigned long long flags) {
    return with_multicast(handle, [&](Driver& state, PhysicalMemory& multicast) {
        const PhysicalMemory* memory = state.vmm.find(bound);
        if (memory == nullptr || bound_offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        return bind(multicast, offset, *memory, bytes);
    });
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr address,
                             size_t bytes, unsigned long long flags) {
    return with_multicast(handle, [&](Driver& state, PhysicalMemory& multicast) {
        const auto mapping = state.vmm.mappings.find(address);
        if (mapping == state.vmm.mappings.end() || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        return bind(multicast, offset, state.vmm.physical.at(mapping->second.handle), bytes);
    });
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, size_t offset,
                           size_t bytes) {
    return with_multicast(handle, [&](Driver&, PhysicalMemory& multicast) {
        const auto found = multicast.bound.find({device, offset});
        if (found == multicast.bound.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
        multicast.bound.erase(found);
        return CUDA_SUCCESS;
    });
}

}  // extern "C"
