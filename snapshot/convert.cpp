// SPDX-License-Identifier: Apache-2.0
//
// Devices merged by time, and the memory of the host.
#include "convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "consistent.h"
#include "device_track.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kDevices = 32;
// Of all devices together: 512 GiB of 2 MiB, and what each part of the file adds.
constexpr uint64_t kPages_least = uint64_t{1} << 18, kPages_per_part = 64;

uint64_t pages_most(const Snapshot& snapshot) {
    uint64_t part_count = snapshot.segments.size() + snapshot.blocks.size();
    for (const auto& trace : snapshot.traces)
        part_count += trace.size();
    return kPages_least + kPages_per_part * part_count;
}

std::unexpected<Error> too_many_pages() {
    Error error;
    error.code = ErrorCode::corrupt;
    error.rule = "snapshot";
    error.detail = "maps more pages than a file of its length can tell of";
    error.way_out = "the file is damaged or was made by hand: use another copy of it";
    return failure(std::move(error));
}

// Pinned memory of the host: only what was asked of the driver. Blocks of its cache are none of its own.
class HostTrack {
  public:
    HostTrack(Conversion& conversion, std::vector<TraceEntry> trace)
        : all_(conversion), trace_(std::move(trace)), taken_(trace_.size()) {
        for (const Segment& segment : conversion.snapshot.host_segments) {
            regions_.put(segment.address, {.size_bytes = segment.total_bytes,
                                           .stream = 0,
                                           .pool = kPoolUnknown,
                                           .stack = segment.stack,
                                           .expandable = false});
        }
        for (size_t at = trace_.size(); at-- > 0;) {
            taken_[at] = undo(trace_[at]);
            skipped_count_ += !taken_[at];
        }
    }

    void put() {
        for (const auto& [address, region] : regions_) {
            const Moment when = {kHostMemory, all_.begin_ns, all_.site(region.stack)};
            all_.image.initial_host(when, address, region.size_bytes);
        }
    }
    bool done() const { return at_ == trace_.size(); }
    uint64_t next_time_ns() const {
        return std::max(time_ns_, trace_[at_].has_time ? nanoseconds(trace_[at_].time_us) : kNoTime);
    }
    void next() {
        time_ns_ = next_time_ns();
        const TraceEntry& entry = trace_[at_];
        if (taken_[at_++] == 0) return;
        const Moment when = {kHostMemory, time_ns_, all_.site(entry.stack)};
        if (entry.action == Action::segment_alloc)
            all_.image.host_alloc(when, entry.address, entry.size_bytes);
        if (entry.action == Action::segment_free) all_.image.host_free(when, entry.address);
    }
    uint64_t skipped_count() const { return skipped_count_; }

  private:
    bool undo(const TraceEntry& entry) {
        const bool is_alloc = entry.action == Action::segment_alloc;
        if (!is_alloc && entry.action != Action::segment_free) return true;
        if (entry.size_bytes == 0 || entry.address > ~entry.size_bytes) return false;
        const Regions::Place* const there = regions_.at(entry.address);
        const bool fits = is_alloc ? there != nullptr && there->second.size_bytes == entry.size_bytes
                                   : !regions_.overlaps(entry.address, entry.size_bytes);
        if (!fits) return false;
        if (is_alloc) {
            regions_.cut(entry.address, entry.size_bytes);
        } else {
            regions_.put(entry.address, {.size_bytes = entry.size_bytes,
                                         .stream = 0,
                                         .pool = kPoolUnknown,
                                         .stack = 0,
                                         .expandable = false});
        }
        return true;
    }

    Conversion& all_;
    std::vector<TraceEntry> trace_;
    std::vector<char> taken_;
    Regions regions_;
    size_t at_ = 0;
    uint64_t time_ns_ = kNoTime;
    uint64_t skipped_count_ = 0;
};

uint64_t earliest_ns(const Snapshot& snapshot) {
    uint64_t earliest = ~uint64_t{0};
    const auto take = [&](const std::vector<TraceEntry>& trace) {
        const auto timed = std::ranges::find_if(trace, [](const TraceEntry& entry) {
            return entry.has_time && nanoseconds(entry.time_us) != kNoTime;
        });
        if (timed != trace.end()) earliest = std::min(earliest, nanoseconds(timed->time_us));
    };
    std::ranges::for_each(snapshot.traces, take);
    take(snapshot.host_trace);
    return earliest == ~uint64_t{0} ? kNoTime : earliest;
}

std::vector<int> devices_of(const Snapshot& snapshot) {
    std::vector<int> devices;
    for (int device = 0; device < static_cast<int>(kDevices); ++device) {
        const auto is_own = [device](const auto& it) { return it.device == device; };
        const bool traced = static_cast<size_t>(device) < snapshot.traces.size() &&
                            !snapshot.traces[static_cast<size_t>(device)].empty();
        if (traced || std::ranges::any_of(snapshot.segments, is_own) ||
            std::ranges::any_of(snapshot.annotations, is_own) ||
            std::ranges::any_of(snapshot.observations, is_own))
            devices.push_back(device);
    }
    return devices;
}

bool states_total(const Snapshot& snapshot, int device) {
    return std::ranges::any_of(snapshot.observations, [device](const Observation& observation) {
        return observation.device == device;
    });
}

bool has_failure(const std::vector<TraceEntry>& trace) {
    return std::ranges::any_of(trace, [](const TraceEntry& entry) { return entry.action == Action::oom; });
}

// The track whose next event is the earliest; of equal ones the first.
template <class Track>
Track* earliest(std::deque<Track>& tracks) {
    Track* first = nullptr;
    for (Track& track : tracks) {
        if (!track.done() && (first == nullptr || track.next_time_ns() < first->next_time_ns()))
            first = &track;
    }
    return first;
}

void run(std::deque<DeviceTrack>& tracks, HostTrack& host) {
    for (DeviceTrack& track : tracks)
        track.put_pages();
    host.put();
    for (DeviceTrack& track : tracks)
        track.put_segments();
    for (DeviceTrack& track : tracks)
        track.put_blocks();
    for (DeviceTrack& track : tracks)
        track.put_waiting();
    for (DeviceTrack* next = earliest(tracks); next != nullptr || !host.done(); next = earliest(tracks)) {
        if (next == nullptr || (!host.done() && host.next_time_ns() < next->next_time_ns()))
            host.next();
        else
            next->next();
    }
    for (DeviceTrack& track : tracks)
        track.finish();
}

}  // namespace

std::string left_out_ranges(uint64_t count) {
    if (count == 0) return {};
    return fmt::format("{} ranges inside {} others or more are left out", count, kOpenRanges_most);
}

Result<Converted> convert(Snapshot snapshot, const std::array<uint8_t, 16>& id,
                          std::optional<uint64_t> card_bytes) {
    if (auto consistent = check_consistent(snapshot); !consistent)
        return failure(std::move(consistent.error()));
    Converted out{RingImage(wire::Origin::torch_snapshot, id), {}};
    out.image.config(snapshot.settings);
    Conversion conversion{.snapshot = snapshot,
                          .image = out.image,
                          .rule = AllocatorRule(snapshot.settings),
                          .card_bytes = card_bytes,
                          .begin_ns = earliest_ns(snapshot),
                          .sites = {}};
    bool states = false;
    uint64_t pages_left_count = pages_most(snapshot);
    std::deque<DeviceTrack> tracks;
    for (const int device : devices_of(snapshot)) {
        std::vector<TraceEntry> trace;
        if (static_cast<size_t>(device) < snapshot.traces.size())
            trace = std::move(snapshot.traces[static_cast<size_t>(device)]);
        states |= card_bytes.has_value() && has_failure(trace) && !states_total(snapshot, device);
        tracks.emplace_back(conversion, device, std::move(trace));
        const uint64_t page_count = tracks.back().page_count();
        if (page_count > pages_left_count) return too_many_pages();
        pages_left_count -= page_count;
    }
    HostTrack host(conversion, std::move(snapshot.host_trace));
    if (states) out.image.total_is_stated();
    if (card_bytes && !states)
        out.notes.emplace_back("--card states nothing here: no failure lacks the card's size");
    run(tracks, host);
    if (auto note = left_out_ranges(out.image.left_out_range_count()); !note.empty())
        out.notes.push_back(std::move(note));

    std::string places;
    uint64_t skipped_count = 0;
    const auto count = [&](uint64_t skipped, std::string_view place) {
        skipped_count += skipped;
        if (skipped != 0) places += fmt::format("{}{} of {}", places.empty() ? "" : ", ", skipped, place);
    };
    for (const DeviceTrack& track : tracks)
        count(track.skipped_count(), fmt::format("device {}", track.device()));
    count(host.skipped_count(), "the host");
    out.image.events_are_lost(skipped_count);
    if (skipped_count != 0)
        out.notes.push_back(
            "entries of the trace that cannot have led to the file's segments and blocks are "
            "left out: " +
            places);
    return out;
}

}  // namespace memsnap::snapshot
