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

class Watch {
  public:
    explicit Watch(const Ledger& begin) {
        for (const int device : begin.devices()) {
            const DeviceTotals& totals = begin.device(device);
            now_[static_cast<size_t>(device)] = {
                totals.reported_allocated_bytes.value_or(totals.allocated_bytes),
                totals.reported_reserved_bytes.value_or(totals.segment_bytes)};
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
        return std::move(closed_);
    }

  private:
    struct Level {
        uint64_t allocated_bytes = 0;
        uint64_t reserved_bytes = 0;
    };

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
        uint32_t& depth = depth_[event.thread];
        RangeUse range{.begin_ticket = event.ticket,
                       .end_ticket = std::nullopt,
                       .name = event.exact_name(),
                       .folded_name = event.folded_name(),
                       .depth = depth++,
                       .thread = event.thread,
                       .devices = {}};
        for (const auto& [device, level] : now_)
            use_of(range, static_cast<int>(device), level);
        open_.emplace(event.ticket, std::move(range));
    }

    void close(const Event& event) {
        const auto found = open_.find(event.address);
        if (found == open_.end()) {
            ++closed_.begun_before_count;
            return;
        }
        --depth_[found->second.thread];
        closed_.ranges.push_back(ended(std::move(found->second), event.ticket));
        open_.erase(found);
    }

    RangeUse ended(RangeUse range, std::optional<uint64_t> ticket) const {
        range.end_ticket = ticket;
        for (DeviceUse& use : range.devices)
            use.end_bytes = now_.at(static_cast<size_t>(use.device)).allocated_bytes;
        return range;
    }

    void report(const Event& event) {
        Level& level = now_[static_cast<size_t>(event.device)];
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
        for (auto& [begin, range] : open_) {
            if (block.birth_ticket == kNoTicket || block.birth_ticket < begin) continue;
            DeviceUse& use = use_of(range, block.device, now_[static_cast<size_t>(block.device)]);
            use.left_bytes += sign * Wide{block.size_bytes};
            use.left_block_count += static_cast<uint64_t>(sign);
        }
    }

    std::map<size_t, Level> now_;         // by device
    std::map<uint64_t, RangeUse> open_;   // by begin
    std::map<uint16_t, uint32_t> depth_;  // by thread
    RangeUses closed_;
};

std::vector<SiteShare> sites_since(const Ledger& ledger, int device, uint64_t begin_ticket) {
    SiteTable table;
    ledger.for_each_block(device, [&](const Block& block) {
        if (block.birth_ticket != kNoTicket && block.birth_ticket >= begin_ticket) table.add(block);
    });
    return largest_sites(table.take());
}

}  // namespace

Result<RangeUses> range_uses(const Capture& capture) {
    Ledger ledger(capture.window);
    Watch watch(ledger);
    const auto outcome =
        replay(capture, capture.window, ledger,
               [&](const Event& event, const Ledger&, const Change& change) { watch.take(event, change); });
    if (!outcome) return failure(outcome.error());
    return watch.finish();
}

Result<std::vector<RangeSites>> range_sites(const Capture& capture, const RangeUse& range) {
    std::vector<RangeSites> sites;
    for (const DeviceUse& use : range.devices)
        sites.push_back({use.device, {}, {}});
    Ledger ledger(capture.window);
    const auto outcome =
        replay(capture, capture.window, ledger, [&](const Event& event, const Ledger& now, const Change&) {
            for (size_t at = 0; at < sites.size(); ++at) {
                const DeviceUse& use = range.devices[at];
                if (event.ticket == use.peak_ticket)
                    sites[at].at_peak = sites_since(now, use.device, range.begin_ticket);
                if (event.ticket == range.end_ticket)
                    sites[at].left = sites_since(now, use.device, range.begin_ticket);
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
