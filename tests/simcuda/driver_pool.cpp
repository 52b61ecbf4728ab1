// SPDX-License-Identifier: Apache-2.0
// The pools' own bookkeeping. Rule: see driver_pool.h.
#include "driver_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "driver_state.h"

namespace simcuda {
namespace {

constexpr uint64_t kPoolAlignmentBytes = 512;

using Extents = std::map<uint64_t, CUmemPoolHandle_st::FreeExtent>;

// Joins neighbours inside one segment whose frees are done.
void merge_done_extents(Driver& state, CUmemPoolHandle_st& pool) {
    for (auto extent = pool.free_extents.begin(); extent != pool.free_extents.end();) {
        const auto next = std::next(extent);
        const bool touches = next != pool.free_extents.end() &&
                             extent->first + extent->second.bytes == next->first &&
                             !pool.segments.contains(next->first);
        if (touches && state.stream_model.is_done(extent->second.freed_at) &&
            state.stream_model.is_done(next->second.freed_at)) {
            extent->second = {extent->second.bytes + next->second.bytes, Position{}};
            pool.free_extents.erase(next);
        } else {
            extent = next;
        }
    }
}

Extents::iterator best_fit(Driver& state, CUmemPoolHandle_st& pool, uint64_t stream_id, uint64_t bytes) {
    auto best = pool.free_extents.end();
    for (auto extent = pool.free_extents.begin(); extent != pool.free_extents.end(); ++extent) {
        if (extent->second.bytes < bytes) continue;
        if (best != pool.free_extents.end() && best->second.bytes <= extent->second.bytes) continue;
        const Position freed_at = extent->second.freed_at;
        if (freed_at.stream_id == stream_id || state.stream_model.is_done(freed_at)) best = extent;
    }
    return best;
}

void release_free_segments(Driver& state, CUmemPoolHandle_st& pool, uint64_t keep_bytes) {
    merge_done_extents(state, pool);
    for (auto segment = pool.segments.begin();
         segment != pool.segments.end() && pool.reserved_bytes > keep_bytes;) {
        const auto [base, bytes] = *segment;
        const auto extent = pool.free_extents.find(base);
        const bool is_free = extent != pool.free_extents.end() && extent->second.bytes == bytes &&
                             state.stream_model.is_done(extent->second.freed_at);
        if (!is_free || pool.reserved_bytes - bytes < keep_bytes) {
            ++segment;
            continue;
        }
        pool.free_extents.erase(extent);
        segment = pool.segments.erase(segment);
        pool.reserved_bytes -= bytes;
        release_address_space(base, bytes);
        state.session->give_back(session_device(state, pool.device), bytes);
    }
}

CUresult grow(Driver& state, CUmemPoolHandle_st& pool, uint64_t bytes) {
    const int device = session_device(state, pool.device);
    const uint64_t segment_bytes = round_up(bytes, kGranularityBytes);
    Grant grant = state.session->charge(device, segment_bytes);
    if (grant == Grant::no_space && pool.reserved_bytes > 0) {
        release_free_segments(state, pool, 0);
        grant = state.session->charge(device, segment_bytes);
    }
    if (grant != Grant::granted) return to_result(grant);
    const uint64_t base = reserve_address_space(segment_bytes, PROT_READ | PROT_WRITE);
    if (base == 0) {
        state.session->give_back(device, segment_bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool.segments[base] = segment_bytes;
    pool.free_extents[base] = {segment_bytes, Position{}};
    pool.reserved_bytes += segment_bytes;
    pool.reserved_high_bytes = std::max(pool.reserved_high_bytes, pool.reserved_bytes);
    return CUDA_SUCCESS;
}

}  // namespace

void PoolTable::add_default_pools(int device_count) {
    for (int device = 0; device < device_count; ++device) {
        default_pools.push_back(create(device));
        default_pools.back()->is_default = true;
    }
    current_pools = default_pools;
}

CUmemoryPool PoolTable::create(int device) {
    pools_.push_back(std::make_unique<CUmemPoolHandle_st>());
    CUmemoryPool pool = pools_.back().get();
    pool->device = device;
    for (const auto reuse :
         {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
          CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        pool->reuse_switches[reuse] = 1;
    }
    return pool;
}

CUresult PoolTable::destroy(Driver& state, CUmemoryPool pool) {
    if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    auto& current = current_pools[static_cast<size_t>(pool->device)];
    if (current == pool) current = default_pools[static_cast<size_t>(pool->device)];
    pool->is_destroyed = true;
    if (pool->live.empty()) trim(state, pool, 0);
    return CUDA_SUCCESS;
}

CUmemoryPool PoolTable::find(CUmemoryPool handle) const {
    const auto found = std::ranges::find_if(pools_, [&](const auto& pool) { return pool.get() == handle; });
    return found == pools_.end() || (*found)->is_destroyed ? nullptr : handle;
}

CUmemoryPool PoolTable::owner_of(uint64_t base) const {
    const auto found =
        std::ranges::find_if(pools_, [&](const auto& pool) { return pool->live.contains(base); });
    return found == pools_.end() ? nullptr : found->get();
}

CUresult PoolTable::allocate(Driver& state, CUmemoryPool pool, uint64_t stream_id, uint64_t bytes,
                             CUdeviceptr* result) {
    if (bytes > UINT64_MAX - kGranularityBytes) return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t rounded = round_up(bytes, kPoolAlignmentBytes);
    merge_done_extents(state, *pool);
    auto extent = best_fit(state, *pool, stream_id, rounded);
    if (extent == pool->free_extents.end()) {
        const CUresult grown = grow(state, *pool, rounded);
        if (grown != CUDA_SUCCESS) return grown;
        extent = best_fit(state, *pool, stream_id, rounded);
    }
    const auto [base, found] = *extent;
    pool->free_extents.erase(extent);
    if (found.bytes > rounded) pool->free_extents[base + rounded] = {found.bytes - rounded, found.freed_at};
    pool->live[base] = rounded;
    pool->used_bytes += rounded;
    pool->used_high_bytes = std::max(pool->used_high_bytes, pool->used_bytes);
    state.memory.add({.base = base,
                      .bytes = bytes,
                      .reserved_bytes = rounded,
                      .kind = MemoryKind::pool,
                      .device = pool->device,
                      .context = state.primary_contexts[static_cast<size_t>(pool->device)].get()});
    *result = base;
    return CUDA_SUCCESS;
}

void PoolTable::free(Driver& state, uint64_t base, Position freed_at) {
    CUmemoryPool pool = owner_of(base);
    const uint64_t bytes = pool->live.at(base);
    state.session->drop_export(base);
    pool->live.erase(base);
    pool->used_bytes -= bytes;
    pool->free_extents[base] = {bytes, freed_at};
    if (pool->is_destroyed && pool->live.empty()) trim(state, pool, 0);
}

void PoolTable::trim(Driver& state, CUmemoryPool pool, uint64_t keep_bytes) {
    release_free_segments(state, *pool, keep_bytes);
}

void PoolTable::trim_to_thresholds(Driver& state) {
    for (const auto& pool : pools_) {
        const uint64_t keep_bytes = pool->is_destroyed ? 0 : pool->release_threshold_bytes;
        if (pool->reserved_bytes > keep_bytes) release_free_segments(state, *pool, keep_bytes);
    }
}

}  // namespace simcuda
