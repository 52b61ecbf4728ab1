// SPDX-License-Identifier: Apache-2.0
//
// One pass over the window's events, after the blocks that are older than it.
#include "diff_grants.h"

#include <algorithm>

#include "outside.h"
#include "window_builder.h"

namespace memsnap {
namespace {

class GrantCounter {
  public:
    GrantCounter(const Want& want, uint64_t nth) : want_(want), nth_(nth) {}

    void take_older(const LiveObject& object) {
        if (!object.live_at_begin || object.object != Object::block || object.device != want_.device) return;
        grants_.largest_bytes = std::max(grants_.largest_bytes, object.size_bytes);
        if (want_.by == Want::By::block && object.size_bytes >= want_.size_bytes) ++grants_.count;
    }

    void take(const Event& event) {
        if (event.device != want_.device) return;
        if (is_observation(event)) {
            free_bytes_ = event.device_free_bytes();
        } else if (event.kind == Kind::block_alloc || event.kind == Kind::block_oom) {
            grants_.largest_bytes = std::max(grants_.largest_bytes, event.size_bytes);
        }
        if (grants(event)) grant(event);
    }

    Grants result() const { return grants_; }

  private:
    bool grants(const Event& event) const {
        if (event.size_bytes < want_.size_bytes) return false;
        if (want_.by == Want::By::block) return event.kind == Kind::block_alloc;
        return event.kind == Kind::ok && !event.has(kNested) && serves_device_memory(event) &&
               event.has(kFromTorch) == (want_.by == Want::By::torch_call);
    }

    void grant(const Event& event) {
        if (++grants_.count != nth_) return;
        if (event.has(kTotals)) {
            grants_.slack_bytes = Amount::derived(Wide{event.reserved_bytes} - Wide{event.allocated_bytes});
        }
        if (free_bytes_) grants_.device_free_bytes = Amount::observed(*free_bytes_);
    }

    const Want want_;
    const uint64_t nth_;
    Grants grants_;
    std::optional<uint64_t> free_bytes_;
};

}  // namespace

std::optional<Want> want_of(const SideIncident& incident) {
    Want want;
    want.device = incident.device;
    if (incident.allocator == "foreign") {
        want.by = Want::By::foreign_call;
    } else if (incident.allocator == "pytorch_uncached" || incident.answer == "driver_refused") {
        want.by = Want::By::torch_call;
    }
    // Only a caching allocator asks the device for something else than what it was asked for.
    const bool segment = incident.answer == "driver_refused" || incident.allocator == "foreign";
    const Amount& size = segment ? incident.segment_request : incident.request;
    if (!size.known()) return std::nullopt;
    want.size_bytes = static_cast<uint64_t>(*size.value);
    return want;
}

Grants count_grants(const Capture& capture, const Want& want, uint64_t until_ticket, uint64_t nth) {
    const Window& window = capture.window;
    GrantCounter counter(want, nth);
    if (until_ticket > window.events.begin_ticket()) {
        for (const LiveObject& object : window.objects)
            counter.take_older(object);
    }
    window.events.for_each(window.events.begin_ticket(), until_ticket, [&](const Event& event) {
        counter.take(event);
        return true;
    });
    Grants grants = counter.result();
    grants.exact = window.events.begin_ticket() == 0 && window.facts.certain_until_ticket >= until_ticket;
    return grants;
}

}  // namespace memsnap
