// SPDX-License-Identifier: Apache-2.0
// What the driver knows about an address. Rule: an address it did not hand out is CUDA_ERROR_INVALID_VALUE
// for the single query and null attributes for the list query (CUDA driver API, "Unified Addressing").
#include "driver_state.h"

using namespace simcuda;

namespace {

template <typename T>
CUresult put(void* data, T value) {
    *static_cast<T*>(data) = value;
    return CUDA_SUCCESS;
}

CUmemorytype memory_type(MemoryKind kind) {
    return is_device_memory(kind) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

CUresult query(Driver& state, const MemoryRange& range, CUpointer_attribute attribute, uint64_t address,
               void* data) {
    const bool is_ipc_capable = range.kind == MemoryKind::device;
    switch (static_cast<int>(attribute)) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return put(data, range.context);
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return put(data, static_cast<unsigned>(memory_type(range.kind)));
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return put(data, static_cast<CUdeviceptr>(address));
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (is_device_memory(range.kind) && range.kind != MemoryKind::managed)
                return CUDA_ERROR_INVALID_VALUE;
            return put(data, reinterpret_cast<void*>(address));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return put(data, 0);
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return put(data, static_cast<unsigned long long>(range.serial));
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return put(data, range.kind == MemoryKind::managed ? 1 : 0);
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return put(data, range.device);
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return put(data, is_ipc_capable ? 1 : 0);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            return put(data, static_cast<CUdeviceptr>(range.base));
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            return put(data, static_cast<size_t>(range.bytes));
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return put(data, 1);
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return put(data, 0ULL);
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
            return put(data, 0);
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return put(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return put(data, state.pools.owner_of(range.base));
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

// The null value of an attribute, as wide as the attribute is.
void put_null(CUpointer_attribute attribute, void* data) {
    switch (static_cast<int>(attribute)) {
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            put(data, -2);
            return;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            put(data, 0);
            return;
        default:
            put(data, uint64_t{0});
            return;
    }
}

}  // namespace

extern "C" {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const MemoryRange* range = state.memory.find(pointer);
        return range == nullptr ? CUDA_ERROR_INVALID_VALUE : query(state, *range, attribute, pointer, data);
    });
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
    if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        const MemoryRange* range = state.memory.find(pointer);
        for (unsigned index = 0; index < count; ++index) {
            const bool known = range != nullptr &&
                               query(state, *range, attributes[index], pointer, data[index]) == CUDA_SUCCESS;
            if (!known) put_null(attributes[index], data[index]);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    return with_driver([&](Driver& state) {
        return state.memory.find(pointer) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
}

}  // extern "C"
