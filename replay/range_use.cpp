// SPDX-License-Identifier: Apache-2.0
//
// One pass for the numbers of all ranges, another for the sites of one.
#include "range_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "replay.h"

namespace memsnap {
namespace {

// The ranges that ended on one thread and whose begin is not in the window, by begin.
using UnseenRanges = std::map<uint64_t, uint64_t>;

// How many of them were open at a ticket.
class UnseenCount {
  public:
    explicit UnseenCount(const UnseenRanges& unseen) {
        for (const auto& [begin, end] : unseen) {
            begins_.push_back(begin);
            ends_.push_back(end);
        }
        std::ranges::sort(ends_);
    }
    uint32_t open_at(uint64_t ticket) const {
        const auto before = [ticket](const std::vector<uint64_t>& tickets) {
            return std::ranges::lower_bound(tickets, ticket) - tickets.begin();
        };
        return static_cast<uint32_t>(before(begins_) - before(ends_));
    }

  private:
    std::vector<uint64_t> begins_, ends_;
};

// What a list of what was there before told is nobody's birth.
bool is_birth(const EventStream& events, const Block& block) {
    return block.birth_ticket != kNoTicket && events.kind(block.birth_ticket) != Kind::initial;
}

class Watch {
  public:
    Watch(const Window& window, const Ledger& begin) : events_(window.events) {
        const WindowFacts& facts = window.facts;
        closed_.in_standby = facts.is_uncertain(Uncertainty::recording_dormant);
        // What is seen at the begin is then not all that there is.
        if (facts.is_uncertain(Uncertainty::late_start) || facts.is_uncertain(Uncertainty::table_incomplete))
            return;
        for (const int device : begin.devices()) {
            const DeviceTotals& totals = begin.device(device);
            now_[device] = {totals.allocated_bytes, totals.segment_bytes};
        }
    }

    void take(const Event& event, const Change& change) {
        if (event.kind == Kind::phase_begin && event.family() == RangeFamily::range) open(event);
        if (event.kind == Kind::phase_end && event.family() == RangeFamily::range) close(event);
        if (event.device >= 0 && is_report(event)) report(event);
        if (change.born != nullptr) count(*change.born, 1);
        if (change.freed) count(*change.freed, -1);
    }

    RangeUses finish() {
        for (auto& [begin, range] : open_)
            closed_.ranges.push_back(ended(std::move(range), std::nullopt));
        std::ranges::sort(closed_.ranges, {}, &RangeUse::begin_ticket);
        std::map<uint16_t, UnseenCount> counts;
        for (const auto& [thread, unseen] : unseen_)
            counts.emplace(thread, unseen);
        for (RangeUse& range : closed_.ranges) {
            const auto found = counts.find(range.thread);
            if (found != counts.end()) range.depth += found->second.open_at(range.begin_ticket);
        }
        return std::move(closed_);
    }

  private:
    struct Level {
        uint64_t allocated_bytes = 0;
        uint64_t reserved_bytes = 0;
    };

    // Before the first report of a device: what is there less what the event itself did. A list of what was
    // there before changes nothing, and a total that lacks its own block tells no more than itself.
    static Level level_before(const Event& event) {
        Level level{event.allocated_bytes, event.reserved_bytes};
        if (event.kind == Kind::block_free) level.allocated_bytes += event.size_bytes;
        if (event.kind == Kind::block_alloc && event.size_bytes <= event.allocated_bytes)
            level.allocated_bytes -= event.size_bytes;
        return level;
    }

    static DeviceUse& use_of(RangeUse& range, int device, const Level& level) {
        const auto at = std::ranges::lower_bound(range.devices, device, {}, &DeviceUse::device);
        if (at != range.devices.end() && at->device == device) return *at;
        return *range.devices.insert(at, {.device = device,
                                          .begin_bytes = level.allocated_bytes,
                                          .peak_bytes = level.allocated_bytes,
                                          .peak_ticket = range.begin_ticket,
                                          .peak_reserved_bytes = level.reserved_bytes});
    }

    void open(const Event& event) {
        const uint32_t depth = depth_[event.thread]++;
        if (open_.size() == kRangesFollowed_most) {
            not_followed_.emplace(event.ticket, event.thread);
            ++closed_.not_followed_count;
            return;
        }
        RangeUse range{.begin_ticket = event.ticket,
                       .end_ticket = std::nullopt,
                       .name = event.exact_name(),
                       .folded_name = event.folded_name(),
                       .depth = depth,
                       .thread = event.thread,
                       .devices = {}};
        for (const auto& [device, level] : now_)
            use_of(range, device, level);
        open_.emplace(event.ticket, std::move(range));
    }

    // As in ranges.h: the end of another thread, or a second one, ends nothing.
    void close(const Event& event) {
        const uint64_t begin = event.address;
        if (const auto found = open_.find(begin); found != open_.end()) {
            if (found->second.thread != event.thread) return;
            --depth_[event.thread];
            closed_.ranges.push_back(ended(std::move(found->second), event.ticket));
            open_.erase(found);
        } else if (const auto other = not_followed_.find(begin); other != not_followed_.end()) {
            if (other->second != event.thread) return;
            --depth_[event.thread];
            not_followed_.erase(other);
        } else if (begin < events_.begin_ticket() || (begin < event.ticket && !events_.accepted(begin))) {
            if (unseen_[event.thread].emplace(begin, event.ticket).second) ++closed_.begun_before_count;
        }
    }

    RangeUse ended(RangeUse range, std::optional<uint64_t> ticket) const {
        range.end_ticket = ticket;
        for (DeviceUse& use : range.devices)
            use.end_bytes = now_.at(use.device).allocated_bytes;
        return range;
    }

    void report(const Event& event) {
        Level& level = now_.try_emplace(event.device, level_before(event)).first->second;
        for (auto& [begin, range] : open_) {
            DeviceUse& use = use_of(range, event.device, level);
            if (event.allocated_bytes > use.peak_bytes) {
                use.peak_bytes = event.allocated_bytes;
                use.peak_ticket = event.ticket;
            }
            use.peak_reserved_bytes = std::max(use.peak_reserved_bytes, event.reserved_bytes);
        }
        level = {event.allocated_bytes, event.reserved_bytes};
    }

    void count(const Block& block, int sign) {
        const auto level = now_.find(block.device);
        if (level == now_.end() || !is_birth(events_, block)) return;
        for (auto& [begin, range] : open_) {
            if (block.birth_ticket < begin) break;
            DeviceUse& use = use_of(range, block.device, level->second);
            use.left_bytes += sign * Wide{block.size_bytes};
            use.left_block_count += static_cast<uint64_t>(sign);
        }
    }

    const EventStream& events_;
    std::map<int, Level> now_;                   // by device; absent: nothing is known yet
    std::map<uint64_t, RangeUse> open_;          // by begin
    std::map<uint64_t, uint16_t> not_followed_;  // open: begin and thread
    std::map<uint16_t, uint32_t> depth_;         // by thread
    std::map<uint16_t, UnseenRanges> unseen_;    // by thread
    RangeUses closed_;
};

std::vector<SiteShare> sites_since(const Ledger& ledger, const EventStream& events, int device,
                                   uint64_t begin_ticket) {
    SiteTable table;
    ledger.for_each_block(device, [&](const Block& block) {
        if (block.birth_ticket >= begin_ticket && is_birth(events, block)) table.add(block);
    });
    return largest_sites(table.take());
}

}  // namespace

Result<RangeUses> range_uses(const Capture& capture) {
    Ledger ledger(capture.window);
    Watch watch(capture.window, ledger);
    const auto outcome =
        replay(capture, capture.window, ledger,
               [&](const Event& event, const Ledger&, const Change& change) { watch.take(event, change); });
    if (!outcome) return failure(outcome.error());
    return watch.finish();
}

Result<std::vector<RangeSites>> range_sites(const Capture& capture, const RangeUse& range) {
    const EventStream& events = capture.window.events;
    std::vector<RangeSites> sites;
    for (const DeviceUse& use : range.devices)
        sites.push_back({use.device, {}, {}});
    Ledger ledger(capture.window);
    const auto outcome =
        replay(capture, capture.window, ledger, [&](const Event& event, const Ledger& now, const Change&) {
            for (size_t at = 0; at < sites.size(); ++at) {
                const DeviceUse& use = range.devices[at];
                if (event.ticket == use.peak_ticket)
                    sites[at].at_peak = sites_since(now, events, use.device, range.begin_ticket);
                if (event.ticket == range.end_ticket)
                    sites[at].left = sites_since(now, events, use.device, range.begin_ticket);
            }
        });
    if (!outcome) return failure(outcome.error());
    return sites;
}

const RangeUse* last_closed(const RangeUses& uses) {
    const RangeUse* last = nullptr;
    for (const RangeUse& range : uses.ranges) {
        if (range.depth != 0 || !range.end_ticket) continue;
        if (last == nullptr || *range.end_ticket > *last->end_ticket) last = &range;
    }
    return last;
}

}  // namespace memsnap
