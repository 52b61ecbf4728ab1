// SPDX-License-Identifier: Apache-2.0
//
// What a ring image keeps while it grows: records, the live table, pinned copies and boundaries. Part of
// ring_image*.cpp. The rule: a record is sealed when it is appended, and never changed afterwards.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "ring_image.h"
#include "ring_image_names.h"
#include "seeded_hash.h"

namespace memsnap::snapshot {

inline constexpr size_t kChunk_records = size_t{1} << 14;
inline constexpr uint16_t kTorchLibrary = 1;

inline void put_u40(uint8_t* out, uint64_t value) {
    std::memcpy(out, &value, 5);
}

template <class T>
void seal(T& value);  // of wire::Record, LiveEntry and Boundary

// The records in order. Pieces of one size, so that growing never copies.
class Records {
  public:
    uint64_t count() const { return count_; }
    void append(const wire::Record& record) {
        if (count_ % kChunk_records == 0)
            chunks_.push_back(std::make_unique_for_overwrite<wire::Record[]>(kChunk_records));
        chunks_.back()[count_++ % kChunk_records] = record;
    }
    // The records of the first piece that is left, which goes with the call after this one.
    std::span<const wire::Record> take_piece();

  private:
    std::deque<std::unique_ptr<wire::Record[]>> chunks_;
    std::unique_ptr<wire::Record[]> taken_;
    uint64_t count_ = 0, taken_count_ = 0;
};

struct LiveThing {
    uint64_t birth_ticket = 0;
    uint64_t size_bytes = 0;
    uint32_t entry = 0;
};

// The pinned copies of one device, and what decides about them.
class DevicePins {
  public:
    void block(const wire::Record& report, uint64_t allocated_bytes, uint64_t reserved_bytes);
    void observation(const wire::Record& record, uint64_t reserved_bytes);
    void boundary();

    bool has_reported() const { return has_reported_; }
    bool used() const { return has_reported_ || last_observation_.seq != 0; }
    const wire::Record& last_observation() const { return last_observation_; }  // seq 0: none
    const wire::PinnedDevice& copies() const { return *copies_; }

  private:
    std::unique_ptr<wire::PinnedDevice> copies_ = std::make_unique<wire::PinnedDevice>();
    wire::Record last_observation_ = {};
    uint64_t peak_allocated_bytes_ = 0, peak_reserved_bytes_ = 0;
    int64_t peak_outside_bytes_ = 0;
    bool has_reported_ = false, has_observation_ = false, bounded_ = false;
};

struct DeviceImage {
    std::unordered_map<uint64_t, LiveThing, SeededHash, std::equal_to<>> blocks, segments;
    std::map<uint64_t, LiveThing> pages;
    uint64_t allocated_bytes = 0, reserved_bytes = 0;                    // of what is live here
    uint64_t reported_allocated_bytes = 0, reported_reserved_bytes = 0;  // as the last report has them
    uint64_t failing_observation = wire::kNoTicket;                      // until the failure
    DevicePins pins;
};

struct OpenRange {
    uint64_t ticket = 0;
    uint16_t exact = 0, folded = 0;
    wire::Family family = wire::Family::none;
};

struct ThreadImage {
    std::vector<OpenRange> open;  // by ticket
    uint64_t first_ticket = 0;
    bool used = false, has_labelled = false;
};

struct RingImage::State {
    State(wire::Origin told_by, const std::array<uint8_t, 16>& ring_id)
        : origin(told_by), id(ring_id), names(ring_id) {}

    DeviceImage& on(const Moment& moment) { return devices[static_cast<size_t>(moment.device)]; }
    ThreadImage& thread_of(const Moment& moment) { return threads[thread_index(moment)]; }
    static uint16_t thread_index(const Moment& moment) {
        return moment.device == kHostMemory ? uint16_t{wire::kDeviceCapacity + 1}
                                            : static_cast<uint16_t>(moment.device + 1);
    }

    wire::Record blank(const Moment& moment, wire::Kind kind) const;
    const wire::Record& append(const Moment& moment, wire::Record record);
    void put_totals(wire::Record& record, const Totals& given, DeviceImage& device) const;

    LiveThing enter(const wire::Record& birth, wire::Object object);
    void leave(const LiveThing& thing, uint64_t death_ticket);
    uint16_t phase_on(uint16_t thread) const;

    // An object below the blocks: its call or initial record, and its free.
    LiveThing born(const Moment& moment, wire::Record record, wire::Object object, uint64_t address,
                   uint64_t size_bytes);
    void freed(const Moment& moment, wire::Op op, uint64_t address, const LiveThing& thing);
    void pages(const Moment& moment, uint64_t address, uint64_t size_bytes, uint64_t page_bytes);
    void block_born(const Moment& moment, wire::Record record, uint64_t address, uint64_t granted_bytes);
    uint64_t observe(const Moment& moment, uint64_t total_bytes, uint64_t free_bytes);
    void close_boundary(const Moment& moment, const OpenRange& range, const wire::Record& end, uint8_t depth);

    wire::Origin origin;
    std::array<uint8_t, 16> id;
    wire::AllocatorConfig config = {};
    uint32_t stated = 0;
    NamesImage names;
    Records records;
    wire::Record last = {};      // as appended
    uint64_t initial_until = 0;  // the ticket behind the last of what was there before the first event
    uint64_t last_time_ns = 0;
    uint64_t first_time_ns = 0;  // 0: no event had a time
    std::vector<wire::LiveEntry> table;
    std::vector<uint32_t> unused_entries;
    std::array<DeviceImage, wire::kDeviceCapacity> devices;
    std::unordered_map<uint64_t, LiveThing, SeededHash, std::equal_to<>> host;
    std::array<ThreadImage, wire::kDeviceCapacity + 2> threads;  // by their index
    std::vector<wire::Boundary> boundaries;
    uint32_t boundary_ordinal = 0;
    uint64_t without_site_count = 0, unknown_free_count = 0, failure_count = 0, lost_count = 0,
             left_out_range_count = 0;
};

}  // namespace memsnap::snapshot
