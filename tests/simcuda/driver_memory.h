// SPDX-License-Identifier: Apache-2.0
// Every address range the driver has handed out. Device memory is host address space without storage until
// touched, so copies work and a large card costs nothing. Rule: each device allocation is charged to the
// session in whole 2 MiB granules before it exists, and given back after it is gone.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>

#include "shared_state.h"

namespace simcuda {

enum class MemoryKind {
    device,
    imported,  // by cuIpcOpenMemHandle
    foreign,   // of another API, or from another process's pool: given up by cuMemFree
    graph,
    pool,
    mapped,
    managed,
    host,
    registered
};

struct MemoryRange {
    uint64_t base = 0;
    uint64_t bytes = 0;  // as requested
    uint64_t reserved_bytes = 0;
    MemoryKind kind = MemoryKind::device;
    int device = 0;
    CUcontext context = nullptr;
    unsigned flags = 0;
    uint64_t serial = 0;
};

inline constexpr uint64_t kPageBytes = 4096;

// Address space aligned to 2 MiB without storage; 0 when the host refuses.
uint64_t reserve_address_space(uint64_t bytes, int protection);
void release_address_space(uint64_t base, uint64_t bytes);

struct MemoryTable {
    std::map<uint64_t, MemoryRange> ranges;
    uint64_t next_serial = 1;

    MemoryRange* find(uint64_t address);  // the range that holds the address, or null
    MemoryRange* find_base(uint64_t base);
    MemoryRange& add(MemoryRange range);
};

inline bool is_device_memory(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::device:
        case MemoryKind::imported:
        case MemoryKind::foreign:
        case MemoryKind::graph:
        case MemoryKind::pool:
        case MemoryKind::mapped:
        case MemoryKind::managed:
            return true;
        case MemoryKind::host:
        case MemoryKind::registered:
            return false;
    }
    __builtin_unreachable();
}

CUresult to_result(Grant grant);

struct Driver;
// Takes charged device memory out of the table and gives its bytes back.
void free_range(Driver& state, uint64_t base);
void free_memory_of(Driver& state, CUcontext context);

// Real bytes, real copies; untouched or zero pages are not materialised. driver_copy.cpp
void copy_sparse(uint64_t destination, uint64_t source, uint64_t bytes);
void fill_zero(uint64_t base, uint64_t bytes);

}  // namespace simcuda
