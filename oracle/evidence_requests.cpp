// SPDX-License-Identifier: Apache-2.0
//
// What was asked for against what was granted, as the torch tap tells it (VERDICT.md §3). Rule: a block's
// request is the last thing of its address before its birth; where that is another birth it is not known.
#include <unordered_map>

#include "case.h"
#include "thresholds.h"

namespace oracle {
namespace {

// Per address: births of blocks and requests, by ticket.
using Trace = std::unordered_map<u64, std::vector<const Event*>>;

Trace trace_of(const Recording& recording, int device, u64 ticket) {
    Trace trace;
    for (const auto& event : recording.events) {
        bool counts = event.kind == kTapAlloc || birth_class(event) == kBlock;
        if (counts && event.device == device && event.ticket <= ticket)
            trace[event.address].push_back(&event);
    }
    return trace;
}

const Event* request_of(const Trace& trace, const Life& block) {
    auto found = trace.find(block.address);
    if (!block.in_window || found == trace.end()) return nullptr;
    const auto& events = found->second;
    auto birth = std::lower_bound(events.begin(), events.end(), block.birth,
                                  [](const Event* event, u64 wanted) { return event->ticket < wanted; });
    if (birth == events.begin()) return nullptr;
    const auto* before = *std::prev(birth);
    return before->kind == kTapAlloc ? before : nullptr;
}

Json requests_at(const Scene& scene, int device, u64 ticket, const std::optional<Int>& stated) {
    auto trace = trace_of(scene.recording, device, ticket);
    auto blocks = blocks_at(scene.lives, device, ticket);
    Int granted = 0, told_granted = 0, told_requested = 0, told_rounded = 0;
    u64 told = 0;
    for (const auto* block : blocks) {
        granted += block->size;
        const auto* request = request_of(trace, *block);
        if (request == nullptr) continue;
        constexpr Int kGranule = thresholds::kGranuleBytes;
        Int asked = request->size;
        ++told;
        told_granted += block->size;
        told_requested += asked;
        told_rounded += std::max<Int>(1, (asked + kGranule - 1) / kGranule) * kGranule;
    }
    auto requested = stated;
    if (!requested && told == blocks.size()) requested = told_requested;
    return Json::Object{{"device", device},
                        {"ticket", ticket},
                        {"granted_bytes", granted},
                        {"requested_bytes", requested},
                        {"told_block_count", told},
                        {"told_granted_bytes", told_granted},
                        {"told_requested_bytes", told_requested},
                        {"told_rounding_bytes", told_rounded - told_requested},
                        {"told_kept_bytes", told_granted - told_rounded}};
}

}  // namespace

void add_requests(const Case& c, Json::Object& evidence) {
    Json::Array list;
    const auto& recording = c.looked_at().recording;
    u64 ticket = c.incident ? c.incident->inputs.ticket : recording.last_ticket();
    if (tap_seen_by(recording, ticket)) {
        if (c.incident) {
            const auto& inputs = c.incident->inputs;
            list.push_back(requests_at(c.incident->scene, inputs.device, ticket, inputs.requested_bytes));
        } else {
            for (int device : devices_with_shapes(c, c.only_device))
                list.push_back(requests_at(c.ring, device, ticket, std::nullopt));
        }
    }
    evidence["requests"] = std::move(list);
}

}  // namespace oracle
