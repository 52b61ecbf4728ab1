// SPDX-License-Identifier: Apache-2.0
//
// Newest records first, then the pinned copies, then the last boundary. In standby nobody keeps records, and
// blocks are added up instead.
#include "live_view.h"

#include <algorithm>

#include "outside.h"

namespace memsnap {
namespace {

// Totals of PyTorch's allocator, as somebody said them.
struct Report {
    uint64_t ticket = 0;
    uint64_t time_counter = 0;
    uint64_t active_bytes = 0, reserved_bytes = 0;
};

class ReportSearch {
  public:
    void take(const std::optional<Event>& event) {
        if (event && event->has(kTotals))
            take(Report{event->ticket, event->time_counter, event->allocated_bytes, event->reserved_bytes});
    }
    void take(const Report& report) {
        if (!newest_ || report.ticket > newest_->ticket) newest_ = report;
    }
    const std::optional<Report>& newest() const { return newest_; }

  private:
    std::optional<Report> newest_;
};

std::optional<Report> newest_report(const LiveFacts& facts, int device) {
    ReportSearch search;
    for (const Event& event : facts.newest) {
        if (event.device == device) search.take(event);
    }
    const PinnedDevice& pinned = facts.capture.pinned[static_cast<size_t>(device)];
    for (const auto* said : {&pinned.first_report, &pinned.last_observation, &pinned.peak_allocated,
                             &pinned.peak_reserved, &pinned.last_processes})
        search.take(*said);
    for (const Boundary& boundary : facts.capture.boundaries) {
        if (boundary.device == device) {
            search.take(Report{boundary.ticket, boundary.time_counter, boundary.allocated_bytes,
                               boundary.reserved_bytes});
        }
    }
    return search.newest();
}

// Of the device by itself, asked for by another library than PyTorch's allocator.
bool is_outside(const LiveObject& object) {
    const bool single = object.object == Object::device || object.object == Object::array ||
                        object.object == Object::async || object.object == Object::vmm_handle;
    return single && (object.flags & (kFromTorch | kImported)) == 0;
}

void take_device(const PinnedDevice& pinned, bool late_start, LiveDevice& out) {
    if (const auto& seen = pinned.last_observation; seen && tells_outside(*seen, late_start)) {
        out.total = Said{seen->device_total_bytes(), seen->time_counter};
        out.free = Said{seen->device_free_bytes(), seen->time_counter};
        out.reserved_then_bytes = seen->has(kTotals) ? seen->reserved_bytes : 0;
    }
    if (const auto& seen = pinned.last_processes; seen && !seen->has(kUnavailable)) {
        out.others = Said{seen->other_process_bytes(), seen->time_counter};
        out.others_count = seen->other_process_count();
    }
    if (pinned.cap && pinned.cap->limit_bytes() != 0) out.cap_bytes = pinned.cap->limit_bytes();
    if (pinned.peak_allocated) out.peak_active_bytes = pinned.peak_allocated->allocated_bytes;
    if (pinned.peak_reserved) out.peak_reserved_bytes = pinned.peak_reserved->reserved_bytes;
    out.peak_outside_bytes = told_outside_bytes(pinned.peak_outside, late_start);
}

}  // namespace

std::optional<uint64_t> LiveDevice::available_bytes() const {
    if (!free) return std::nullopt;
    const Wide available = Wide{free->bytes} + reserved_then_bytes.value_or(0);
    const Wide most = cap_bytes ? std::min(available, Wide{*cap_bytes}) : available;
    return static_cast<uint64_t>(std::min(most, Wide{UINT64_MAX}));
}

std::optional<Wide> LiveDevice::margin_bytes() const {
    const auto available = available_bytes();
    if (!available || !active) return std::nullopt;
    return Wide{*available} - active->bytes;
}

std::vector<LiveDevice> live_devices(const LiveFacts& facts) {
    std::vector<LiveDevice> devices(kDeviceCapacity);
    std::vector<SiteTable> sites(kDeviceCapacity);
    for (const LiveObject& object : facts.objects) {
        if (object.device < 0) continue;
        LiveDevice& device = devices[static_cast<size_t>(object.device)];
        if (object.object == Object::block) {
            ++device.block_count;
            device.block_bytes += object.size_bytes;
            sites[static_cast<size_t>(object.device)].add(block_of(object));
        } else if (is_outside(object)) {
            device.outside_bytes += object.size_bytes;
        }
    }
    for (int number = 0; number < kDeviceCapacity; ++number) {
        LiveDevice& device = devices[static_cast<size_t>(number)];
        device.device = number;
        take_device(facts.capture.pinned[static_cast<size_t>(number)], facts.capture.late_start(), device);
        if (const auto report = newest_report(facts, number)) {
            // Nothing newer than a sample or a boundary is kept in standby, but the blocks are.
            const bool kept = facts.capture.header.arm_state != ArmState::standby;
            device.active = Said{kept ? report->active_bytes : device.block_bytes, report->time_counter};
            device.reserved = Said{report->reserved_bytes, report->time_counter};
        }
        device.trend = find_trend(facts.capture, number, device.available_bytes());
        device.sites = largest_sites(sites[static_cast<size_t>(number)].take());
    }
    std::erase_if(devices, [](const LiveDevice& device) {
        return !device.active && !device.total && device.block_count == 0 && device.outside_bytes == 0;
    });
    return devices;
}

}  // namespace memsnap
