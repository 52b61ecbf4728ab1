// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: physical allocations, address reservations, and mappings between them.
// Rule: physical memory is charged at cuMemCreate and given back when no mapping and no handle, in any
// process, is left (CUDA driver API, cuMemRelease). Contents belong to a mapping here, not to the physical
// allocation.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace simcuda {

struct Driver;

struct PhysicalMemory {
    uint64_t bytes = 0;
    CUmemAllocationProp properties{};
    unsigned handle_count = 0;
    unsigned mapping_count = 0;
    uint64_t shared_id = 0;     // entry in the session's table once it was exported or imported; 0: private
    bool is_multicast = false;  // no memory, but a window on what is bound to it
    std::set<CUdevice> team{};  // of a multicast object
    std::map<std::pair<CUdevice, uint64_t>, uint64_t> bound{};  // device, offset -> bytes
};

struct Mapping {
    uint64_t bytes = 0;
    CUmemGenericAllocationHandle handle = 0;
};

struct VmmTable {
    std::map<CUmemGenericAllocationHandle, PhysicalMemory> physical;
    std::map<uint64_t, uint64_t> reservations;  // base -> bytes
    std::map<uint64_t, Mapping> mappings;       // by base
    CUmemGenericAllocationHandle next_handle = 1;

    PhysicalMemory* find(CUmemGenericAllocationHandle handle);
    CUmemGenericAllocationHandle add(PhysicalMemory memory);
    bool is_reserved(uint64_t base, uint64_t bytes) const;
    bool is_mapped(uint64_t base, uint64_t bytes) const;  // whole mappings, without a gap
    bool overlaps_mapping(uint64_t base, uint64_t bytes) const;
    void drop_if_unused(Driver& state, CUmemGenericAllocationHandle handle);
};

}  // namespace simcuda
