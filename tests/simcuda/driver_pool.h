// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation: pools that keep memory between frees and allocations.
// Rule: a pool's reserved bytes are charged to the device, its used bytes are not a second charge. Memory
// freed on a stream is for that stream at once, for others when the free is done (CUDA programming guide,
// "Stream Ordered Memory Allocator"). A pool grows by exactly what it lacks, in whole granules; the real
// driver grows by larger steps.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "stream_model.h"

struct CUmemPoolHandle_st {
    struct FreeExtent {
        uint64_t bytes;
        simcuda::Position freed_at;
    };

    int device = 0;
    bool is_default = false;
    bool is_exportable = false;
    bool is_imported = false;   // its allocations are another process's
    bool is_destroyed = false;  // gone for the program; the memory goes with the last live allocation
    uint64_t release_threshold_bytes = 0;
    std::map<CUmemPool_attribute, int> reuse_switches;
    uint64_t reserved_bytes = 0;
    uint64_t reserved_high_bytes = 0;
    uint64_t used_bytes = 0;
    uint64_t used_high_bytes = 0;
    std::map<uint64_t, uint64_t> segments;  // base -> bytes
    std::map<uint64_t, FreeExtent> free_extents;
    std::map<uint64_t, uint64_t> live;
};

namespace simcuda {

struct Driver;

class PoolTable {
  public:
    void add_default_pools(int device_count);
    CUmemoryPool create(int device);
    CUresult destroy(Driver& state, CUmemoryPool pool);
    CUmemoryPool find(CUmemoryPool handle) const;  // null when it is no living pool
    CUmemoryPool owner_of(uint64_t base) const;

    CUresult allocate(Driver& state, CUmemoryPool pool, uint64_t stream_id, uint64_t bytes,
                      CUdeviceptr* result);
    void free(Driver& state, uint64_t base, Position freed_at);
    void trim(Driver& state, CUmemoryPool pool, uint64_t keep_bytes);
    void trim_to_thresholds(Driver& state);  // what every synchronisation does

    std::vector<CUmemoryPool> default_pools;  // by device ordinal
    std::vector<CUmemoryPool> current_pools;

  private:
    std::vector<std::unique_ptr<CUmemPoolHandle_st>> pools_;
};

}  // namespace simcuda
