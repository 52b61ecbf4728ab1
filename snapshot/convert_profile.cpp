// SPDX-License-Identifier: Apache-2.0
//
// Events in the order in which the allocator made them, the blocks that were there before them, and ranges
// between them.
#include "convert_profile.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../replay/measure.h"

namespace memsnap::snapshot {

namespace {

using Events = std::vector<ProfileEvent>;

static_assert(kMostDevices == wire::kDeviceCapacity);

constexpr size_t kMostAtOneTime = 1024;  // events of one time that are tried for the next one

// ---------------------------------------------------------------- order

// Old releases tell microseconds only. Of events of one time the next one is that which the totals ask for.
void order_by_totals(Events& events) {
    std::map<int, uint64_t> allocated_bytes;
    for (size_t at = 0; at < events.size(); ++at) {
        const auto known = allocated_bytes.find(events[at].device);
        if (known != allocated_bytes.end()) {
            const auto follows = [&](const ProfileEvent& event) {
                const int64_t change = event.kind == ProfileEvent::Kind::block ? event.bytes : 0;
                return event.device == events[at].device &&
                       known->second + static_cast<uint64_t>(change) == event.allocated_bytes;
            };
            for (size_t other = at; other < events.size() && other < at + kMostAtOneTime &&
                                    events[other].time_ns == events[at].time_ns;
                 ++other) {
                if (!follows(events[other])) continue;
                const auto begin = events.begin();
                std::rotate(begin + static_cast<ptrdiff_t>(at), begin + static_cast<ptrdiff_t>(other),
                            begin + static_cast<ptrdiff_t>(other) + 1);
                break;
            }
        }
        allocated_bytes[events[at].device] = events[at].allocated_bytes;
    }
}

void order(Events& events) {
    std::ranges::sort(events, {},
                      [](const ProfileEvent& event) { return std::pair(event.time_ns, event.order); });
    order_by_totals(events);
}

// ---------------------------------------------------------------- blocks

// Addresses by where they begin; those that touch are one.
class Ranges {
  public:
    bool meets(uint64_t begin, uint64_t end) const {
        const auto after = ends_.lower_bound(end);
        return after != ends_.begin() && std::prev(after)->second > begin;
    }
    void add(uint64_t begin, uint64_t end) {
        auto at = ends_.upper_bound(begin);
        if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
        while (at != ends_.end() && at->first <= end) {
            begin = std::min(begin, at->first);
            end = std::max(end, at->second);
            at = ends_.erase(at);
        }
        ends_[begin] = end;
    }

  private:
    std::map<uint64_t, uint64_t> ends_;
};

uint64_t size_of(const ProfileEvent& event) {
    return static_cast<uint64_t>(event.bytes < 0 ? -event.bytes : event.bytes);
}

uint64_t end_of(const ProfileEvent& event) {
    uint64_t end = 0;
    return __builtin_add_overflow(event.address, size_of(event), &end) ? UINT64_MAX : end;
}

// What is freed without having been born, where nothing else has been before, was there from the beginning.
Events initial_blocks(const Events& events) {
    Events found;
    std::map<int, Ranges> seen;
    for (const ProfileEvent& event : events) {
        if (event.kind != ProfileEvent::Kind::block) continue;
        Ranges& ranges = seen[event.device];
        if (event.bytes < 0 && !ranges.meets(event.address, end_of(event))) found.push_back(event);
        ranges.add(event.address, end_of(event));
    }
    return found;
}

// Blocks that are live, so that one whose end nobody told ends when its place is taken.
class LiveBlocks {
  public:
    void free(const ProfileEvent& event) { sizes_[event.device].erase(event.address); }
    // Returns those that lie where this one is born.
    std::vector<std::pair<uint64_t, uint64_t>> born(const ProfileEvent& event) {
        auto& sizes = sizes_[event.device];
        std::vector<std::pair<uint64_t, uint64_t>> ended;
        auto at = sizes.lower_bound(event.address);
        if (at != sizes.begin() && std::prev(at)->first + std::prev(at)->second > event.address) --at;
        while (at != sizes.end() && at->first < end_of(event)) {
            ended.push_back(*at);
            at = sizes.erase(at);
        }
        sizes[event.address] = size_of(event);
        return ended;
    }

  private:
    std::map<int, std::map<uint64_t, uint64_t>> sizes_;
};

// ---------------------------------------------------------------- ranges

struct Mark {
    enum class Kind : uint8_t {
        end,
        begin,
        end_at_once  // of a range that took no time
    };
    int64_t time_ns = 0;
    Kind kind = Kind::begin;
    int64_t other_end_ns = 0;
    size_t range = 0;
};

// Nested ranges that begin together: the longer first; that end together: the shorter first.
std::vector<Mark> marks_of(const std::vector<ProfileRange>& ranges) {
    std::vector<Mark> marks;
    marks.reserve(ranges.size() * 2);
    for (size_t i = 0; i < ranges.size(); ++i) {
        const ProfileRange& range = ranges[i];
        const bool at_once = range.begin_ns == range.end_ns;
        marks.push_back({range.begin_ns, Mark::Kind::begin, range.end_ns, i});
        marks.push_back(
            {range.end_ns, at_once ? Mark::Kind::end_at_once : Mark::Kind::end, range.begin_ns, i});
    }
    std::ranges::sort(marks, [](const Mark& a, const Mark& b) {
        return std::tuple(a.time_ns, a.kind, -a.other_end_ns, a.range) <
               std::tuple(b.time_ns, b.kind, -b.other_end_ns, b.range);
    });
    return marks;
}

class Conversion {
  public:
    Conversion(Profile profile, const std::array<uint8_t, 16>& id)
        : profile_(std::move(profile)), image_(wire::Origin::profiler_trace, id) {}

    Converted run() {
        Events& events = profile_.events;
        order(events);
        range_device_ = std::ranges::min(events, {}, &ProfileEvent::device).device;
        for (const ProfileEvent& event : initial_blocks(events)) {
            live_.born(event);
            image_.initial_block(moment(event.device, events.front().time_ns), event.address, size_of(event));
        }
        const std::vector<Mark> marks = marks_of(profile_.ranges);
        open_.resize(profile_.ranges.size());
        auto next = marks.begin();
        for (const ProfileEvent& event : events) {
            for (; next != marks.end() && next->time_ns <= event.time_ns; ++next)
                mark(*next);
            tell(event);
        }
        for (; next != marks.end(); ++next)
            mark(*next);
        std::vector<std::string> said = notes();
        return {std::move(image_), std::move(said)};
    }

  private:
    Moment moment(int device, int64_t time_ns) const {
        int64_t unix_ns = 0;
        if (__builtin_add_overflow(profile_.base_time_ns, time_ns, &unix_ns) || unix_ns < 0) unix_ns = 0;
        return {device, static_cast<uint64_t>(unix_ns), 0};
    }

    void mark(const Mark& mark) {
        const Moment when = moment(range_device_, mark.time_ns);
        if (mark.kind == Mark::Kind::begin) {
            const std::string_view name = profile_.texts.text(profile_.ranges[mark.range].name);
            open_[mark.range] = image_.range_begin(when, name, wire::Family::range);
        } else {
            image_.range_end(when, open_[mark.range]);
        }
    }

    void tell(const ProfileEvent& event) {
        const Moment when = moment(event.device, event.time_ns);
        const RingImage::Totals totals = {{event.allocated_bytes, event.reserved_bytes}};
        if (event.kind == ProfileEvent::Kind::oom && event.bytes == 0) {
            ++oom_without_request_count_;
        } else if (event.kind == ProfileEvent::Kind::oom) {
            image_.oom(when, static_cast<uint64_t>(event.bytes), totals);
        } else if (event.bytes < 0) {
            live_.free(event);
            image_.block_free(when, event.address, size_of(event), totals);
        } else {
            end_untold(when, event);
            image_.block_alloc(when, event.address, size_of(event), totals);
        }
    }

    void end_untold(const Moment& when, const ProfileEvent& event) {
        const auto ended = live_.born(event);
        Wide allocated_bytes = Wide{event.allocated_bytes} - size_of(event);
        for (const auto& [address, size_bytes] : ended)
            allocated_bytes += size_bytes;
        untold_end_count_ += ended.size();
        for (const auto& [address, size_bytes] : ended) {
            allocated_bytes -= size_bytes;
            const auto told_bytes =
                static_cast<uint64_t>(std::min(allocated_bytes, Wide{kTotals_bytes_most}));
            image_.block_free(when, address, size_bytes, {{told_bytes, event.reserved_bytes}});
        }
    }

    std::vector<std::string> notes() const {
        std::vector<std::string> said;
        if (oom_without_request_count_ != 0)
            said.push_back(std::to_string(oom_without_request_count_) +
                           " failures without the size of their request: no incidents");
        if (untold_end_count_ != 0)
            said.push_back(std::to_string(untold_end_count_) +
                           " blocks whose end is not in the trace: they end where their place is taken");
        if (profile_.left_out_range_count != 0)
            said.push_back(std::to_string(profile_.left_out_range_count) + " ranges behind the first " +
                           std::to_string(kRanges_count_most) + " of the file are left out");
        if (auto note = left_out_ranges(image_.left_out_range_count()); !note.empty())
            said.push_back(std::move(note));
        return said;
    }

    Profile profile_;
    RingImage image_;
    LiveBlocks live_;
    std::vector<uint64_t> open_;  // of each range, while it is open
    int range_device_ = 0;
    uint64_t untold_end_count_ = 0;
    uint64_t oom_without_request_count_ = 0;
};

}  // namespace

Converted convert_profile(Profile profile, const std::array<uint8_t, 16>& id) {
    return Conversion(std::move(profile), id).run();
}

}  // namespace memsnap::snapshot
