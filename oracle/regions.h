// SPDX-License-Identifier: Apache-2.0
//
// Regions and what became of them (VERDICT.md §3). Rule: what a region is at an instant follows from the
// tickets at which it was told, settled or found direct; only the settling itself is a fold over the reports.
#pragma once

#include <map>

#include "lives.h"

namespace oracle {

enum class Status : u8 {
    kSegment,
    kForeign,
    kDirect,
    kCandidate
};

struct Region {
    std::size_t life = 0;
    int device = -1;
    u64 begin = 0;
    u64 end = 0;
    u64 from = 0;
    u64 death = kNoTicket;
    bool mapping = false;
    bool foreign = false;
    bool device_is_told = false;  ///< only what lies in it told its device, when it became a segment
    u64 segment_since = kNoTicket;
    u64 direct_since = kNoTicket;
    u64 large_since = kNoTicket;  ///< first block of more than 1 MiB that started in it
    struct Told {
        u64 ticket;
        u64 stream;
        u16 pool;
    };
    std::vector<Told> told;

    u64 size() const { return end - begin; }
    bool alive_at(u64 ticket) const { return from <= ticket && ticket < death; }
    bool is_on(int wanted, u64 ticket) const {
        return device == wanted && !(device_is_told && ticket < segment_since);
    }
    Status status_at(u64 ticket) const {
        if (segment_since <= ticket) return Status::kSegment;
        if (foreign) return Status::kForeign;
        return direct_since <= ticket ? Status::kDirect : Status::kCandidate;
    }
};

struct Regions {
    std::vector<Region> all;
    std::vector<Issue> issues;
    /// What PyTorch's allocator held on each device, from the ticket of every change on: gap of the last
    /// report, segments, candidates, direct bytes.
    std::map<int, std::vector<std::pair<u64, Int>>> held;

    Int held_at(int device, u64 ticket) const;
    Int sum(int device, Status status, u64 ticket) const;
};

Regions build_regions(const Recording& recording, const std::vector<Life>& lives);
bool is_imported(const Life& life);

}  // namespace oracle
