// SPDX-License-Identifier: Apache-2.0
//
// One device's share of a snapshot, event by event. The rule: its own order is never changed; how it is
// merged with those of the other devices is the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator_rule.h"
#include "page_sizes.h"
#include "regions.h"
#include "ring_image.h"
#include "roll_back.h"

namespace memsnap::snapshot {

// What all devices of a snapshot share.
struct Conversion {
    const Snapshot& snapshot;
    RingImage& image;
    AllocatorRule rule;
    std::optional<uint64_t> card_bytes;
    uint64_t begin_ns = 0;        // of the earliest entry that has a time
    std::vector<uint64_t> sites;  // by StackId, kUnseenSite until it is needed

    uint64_t site(StackId stack);
};

inline constexpr uint64_t kNoTime = 0;

// Nanoseconds of a time that can be one; else kNoTime.
constexpr uint64_t nanoseconds(int64_t time_us) {
    return time_us <= 0 || time_us > INT64_MAX / 1000 ? kNoTime : static_cast<uint64_t>(time_us) * 1000;
}

class DeviceTrack {
  public:
    DeviceTrack(Conversion& conversion, int device, std::vector<TraceEntry> trace);

    // ---- the state before the first entry, all devices' each before the next
    void put_pages();
    void put_segments();
    void put_blocks();
    void put_waiting();

    // ---- the entries, with what lies between them
    bool done() const;
    uint64_t next_time_ns() const;  // never falls
    void next();
    void finish();  // behind the last entry of all devices

    int device() const { return device_; }
    uint64_t skipped_count() const { return rolled_.skipped_count; }
    // Pages that its records will tell of, one each.
    uint64_t page_count() const { return pages_.told_count(); }

  private:
    struct LiveBlock {
        uint64_t granted_bytes = 0;
        std::optional<uint64_t> requested_bytes;
        bool waiting = false;
    };

    Moment moment(const TraceEntry& entry, bool with_site);
    Moment initial_moment(StackId stack);
    uint64_t hole_bytes(uint64_t address, bool& expandable) const;
    void annotate(const Annotation& annotation);
    void label(const Moment& moment, TextId metadata);
    void observe(size_t at);
    void apply(size_t at);
    void alloc(size_t at);
    void free_requested(size_t at);
    void free_completed(const TraceEntry& entry);
    void release(const Moment& moment, uint64_t address, LiveBlock& block);
    void segment(const TraceEntry& entry);
    void oom(size_t at);
    void tap(const TraceEntry& entry, wire::Kind kind);
    uint16_t pool_of(const TraceEntry& entry) const;
    void count_request(const LiveBlock& block, bool live);

    Conversion& all_;
    int device_;
    std::vector<TraceEntry> trace_;
    std::vector<Segment> segments_;
    RolledBack rolled_;
    PageSizes pages_;
    std::vector<Annotation> annotations_;    // by time, those of one time as in the file
    std::vector<Observation> observations_;  // by entry
    size_t at_ = 0, annotation_at_ = 0, observation_at_ = 0;
    uint64_t time_ns_ = kNoTime;  // the greatest so far

    Regions regions_;
    std::map<uint64_t, LiveBlock> blocks_;
    uint64_t requested_bytes_ = 0, unknown_request_count_ = 0;  // of allocated blocks
    std::map<TextId, std::vector<uint64_t>> ranges_;  // open annotations, of each name the innermost last
    TextId metadata_ = 0;
    uint64_t metadata_range_ = 0;
};

}  // namespace memsnap::snapshot
