// SPDX-License-Identifier: Apache-2.0
// Entry points of stream-ordered allocation. Rule: in a capturing stream nothing is allocated or freed; nodes
// are made (CUDA driver API, cuMemAllocAsync).
#include "driver_state.h"

using namespace simcuda;

namespace {

template <typename Body>
CUresult with_pool(CUmemoryPool handle, Body body) {
    return with_driver([&](Driver& state) {
        CUmemoryPool pool = state.pools.find(handle);
        return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(state, *pool);
    });
}

template <typename Body>
CUresult with_device_of_pool(CUdevice device, Body body) {
    return with_driver([&](Driver& state) {
        return is_device(state, device) ? body(state.pools, static_cast<size_t>(device))
                                        : CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult allocate_async(Driver& state, CUctx_st& context, CUmemoryPool pool, size_t bytes, CUstream handle,
                        CUdeviceptr* result) {
    CUstream stream = find_stream(state, context, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) {
        const uint64_t base = state.graphs.add_memory(state, pool->device, bytes);
        if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        *result = base;
        return enqueue(state, context, handle, {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .address = base});
    }
    const CUresult allocated = state.pools.allocate(state, pool, stream->id, bytes, result);
    if (allocated == CUDA_SUCCESS) state.stream_model.submit(stream->id);
    return allocated;
}

CUresult free_async(Driver& state, CUctx_st& context, uint64_t base, CUstream handle) {
    CUstream stream = find_stream(state, context, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const MemoryRange* range = state.memory.find_base(base);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture != nullptr) {
        if (range->kind != MemoryKind::graph) return CUDA_ERROR_INVALID_VALUE;
        return enqueue(state, context, handle, {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = base});
    }
    switch (range->kind) {
        case MemoryKind::pool:
            state.stream_model.submit(stream->id);
            state.memory.ranges.erase(base);
            state.pools.free(state, base, state.stream_model.now(stream->id));
            return CUDA_SUCCESS;
        case MemoryKind::graph:
            return state.graphs.end_allocation(base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        case MemoryKind::device:
        case MemoryKind::foreign:
            free_range(state, base);
            return CUDA_SUCCESS;
        case MemoryKind::imported:
        case MemoryKind::mapped:
        case MemoryKind::managed:
        case MemoryKind::host:
        case MemoryKind::registered:
            return CUDA_ERROR_INVALID_VALUE;
    }
    __builtin_unreachable();
}

CUresult set_high_mark(uint64_t& high_bytes, uint64_t current_bytes, uint64_t value) {
    if (value != 0) return CUDA_ERROR_INVALID_VALUE;
    high_bytes = current_bytes;
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool handle, CUstream stream) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        CUmemoryPool pool = state.pools.find(handle);
        if (pool == nullptr || pool->is_imported) return CUDA_ERROR_INVALID_VALUE;
        return allocate_async(state, context, pool, bytes, stream, pointer);
    });
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
    if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context([&](Driver& state, CUctx_st& context) {
        CUmemoryPool pool = state.pools.current_pools[static_cast<size_t>(context.device)];
        return allocate_async(state, context, pool, bytes, stream, pointer);
    });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
    if (pointer == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_context(
        [&](Driver& state, CUctx_st& context) { return free_async(state, context, pointer, stream); });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    return with_driver([&](Driver& state) {
        if (!is_device(state, properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
        *pool = state.pools.create(properties->location.id);
        (*pool)->is_exportable = (properties->handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    return with_pool(
        handle, [](Driver& state, CUmemPoolHandle_st& pool) { return state.pools.destroy(state, &pool); });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes) {
    return with_pool(handle, [&](Driver& state, CUmemPoolHandle_st& pool) {
        state.pools.trim(state, &pool, keep_bytes);
        return CUDA_SUCCESS;
    });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [&](Driver&, CUmemPoolHandle_st& pool) {
        switch (static_cast<int>(attribute)) {
            case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
                pool.reuse_switches[attribute] = *static_cast<int*>(value);
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
                pool.release_threshold_bytes = *static_cast<cuuint64_t*>(value);
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
                return set_high_mark(pool.reserved_high_bytes, pool.reserved_bytes,
                                     *static_cast<cuuint64_t*>(value));
            case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                return set_high_mark(pool.used_high_bytes, pool.used_bytes, *static_cast<cuuint64_t*>(value));
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [&](Driver&, CUmemPoolHandle_st& pool) {
        auto* const bytes = static_cast<cuuint64_t*>(value);
        switch (static_cast<int>(attribute)) {
            case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
                *static_cast<int*>(value) = pool.reuse_switches[attribute];
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
                *bytes = pool.release_threshold_bytes;
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
                *bytes = pool.reserved_bytes;
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
                *bytes = pool.reserved_high_bytes;
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
                *bytes = pool.used_bytes;
                return CUDA_SUCCESS;
            case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
                *bytes = pool.used_high_bytes;
                return CUDA_SUCCESS;
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access, size_t count) {
    if (access == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [](Driver&, CUmemPoolHandle_st&) { return CUDA_SUCCESS; });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation*) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return with_pool(handle, [](Driver&, CUmemPoolHandle_st&) { return CUDA_SUCCESS; });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device_of_pool(device, [&](PoolTable& pools, size_t index) {
        *pool = pools.default_pools[index];
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_device_of_pool(device, [&](PoolTable& pools, size_t index) {
        *pool = pools.current_pools[index];
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    return with_device_of_pool(device, [&](PoolTable& pools, size_t index) {
        CUmemoryPool found = pools.find(pool);
        if (found == nullptr || found->device != device) return CUDA_ERROR_INVALID_VALUE;
        pools.current_pools[index] = found;
        return CUDA_SUCCESS;
    });
}

// The location forms of CUDA 13: here a location is always a device.
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType) {
    if (location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    return cuDeviceGetDefaultMemPool(pool, location->id);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType) {
    if (location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    return cuDeviceGetMemPool(pool, location->id);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType, CUmemoryPool pool) {
    if (location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    return cuDeviceSetMemPool(location->id, pool);
}

}  // extern "C"
