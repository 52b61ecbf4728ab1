// SPDX-License-Identifier: Apache-2.0
//
// When is "the same point" of two steps? Marked boundaries from the boundary table, else the least-active
// points between beats of the most regular allocation. The rule: what was only inferred says so, and is
// certified only by the alternation of forward and backward between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture.h"
#include "evidence.h"

namespace memsnap {

struct MatchedPoint {
    uint64_t ticket = 0;
    uint64_t active_bytes = 0;
    uint64_t reserved_bytes = 0;
    std::optional<uint64_t> device_free_bytes;
};

struct Matched {
    GrowthBasis basis = GrowthBasis::too_few;
    BoundaryFamily family = BoundaryFamily::none;  // none: inferred, or no boundary at all
    std::vector<MatchedPoint> points;              // by ticket, none after the instant looked at
};

// Whether it may be compared with others: of ranges only those that no other one is around.
bool outermost(const Boundary& boundary);

// The first family with enough equivalent boundaries up to a ticket; else, with basis too_few, the family
// that has most.
Matched marked_boundaries(const std::vector<Boundary>& boundaries, int device, uint64_t until_ticket);

// Counts births and frees by (site, granted size) while a window is replayed, for one device.
class HeartbeatCounter {
  public:
    struct Heartbeat {
        uint64_t site = 0;
        uint64_t granted_bytes = 0;
        uint64_t first_ticket = 0;  // its first allocation in the window
        uint64_t event_count = 0;   // block events of the device from there on
    };

    void born(uint64_t site, uint64_t granted_bytes, uint64_t ticket);
    void freed(uint64_t site, uint64_t granted_bytes);
    // The one with the most blocks both allocated and freed; nullopt: none was.
    std::optional<Heartbeat> best() const;

  private:
    struct Entry {
        uint64_t site = 0;
        uint64_t granted_bytes = 0;  // 0: unused
        uint64_t freed_count = 0;
        uint64_t first_ticket = kNoTicket;
        uint64_t first_index = 0;
    };
    Entry& entry(uint64_t site, uint64_t granted_bytes);
    void grow();

    std::vector<Entry> entries_ = std::vector<Entry>(256);
    uint64_t used_count_ = 0;
    uint64_t event_index_ = 0;
};

// Boundaries from the heartbeat of a device in [its first allocation, until_ticket); nullopt when the events
// do not repeat regularly enough.
std::optional<Matched> inferred_boundaries(const EventStream& events, int device, uint64_t until_ticket,
                                           const HeartbeatCounter& counter);

// How many steps the points of a spaced pair are apart; 1 while there are too few to space them.
size_t pair_spacing(size_t point_count);

// How many of the last five pairs grew: of consecutive points, or of spaced ones where more of those did.
uint64_t growing_pairs(const std::vector<MatchedPoint>& points);

}  // namespace memsnap
