// SPDX-License-Identifier: Apache-2.0
//
// Peak, lifetimes and reconciliation over [B, f]. Rule: sums over sorted changes, never a state carried
// along.
#include "case.h"
#include "residual.h"

namespace oracle {
namespace {

Json peak_of(const Incident& incident) {
    const auto& recording = incident.scene.recording;
    u64 f = incident.inputs.ticket;
    int device = incident.inputs.device;
    const Event* reserved = nullptr;
    for (const auto& event : recording.events) {
        bool counts = event.ticket <= f && event.device == device && event.is_report();
        if (counts && (reserved == nullptr || event.reserved_bytes > reserved->reserved_bytes))
            reserved = &event;
    }
    return Json::Object{{"active_bytes", incident.peak.bytes},
                        {"active_ticket", incident.peak.ticket},
                        {"reserved_bytes", reserved != nullptr ? Json(reserved->reserved_bytes) : Json()},
                        {"reserved_ticket", reserved != nullptr ? Json(reserved->ticket) : Json()}};
}

Json lifetimes_of(const Incident& incident) {
    u64 f = incident.inputs.ticket, born = 0, freed = 0;
    Int total = 0;
    std::optional<Int> longest;
    for (const auto& life : incident.scene.lives) {
        if (life.object != kBlock || life.device != incident.inputs.device || !life.in_window ||
            life.from > f)
            continue;
        ++born;
        if (life.death > f || !life.freed) continue;
        ++freed;
        Int ticks = life.death - life.from;
        total += ticks;
        longest = std::max(longest.value_or(0), ticks);
    }
    return Json::Object{
        {"born_count", born}, {"freed_count", freed}, {"longest_ticks", longest}, {"total_ticks", total}};
}

// How far apart two intervals are, 0 where they meet.
Int distance(const Residual& a, const Residual& b) {
    return std::max(less(a.low, b.high), less(b.low, a.high));
}

Json reconciliation_of(const Incident& incident) {
    auto residuals = residuals_of(incident.scene, incident.inputs.device, incident.inputs.ticket);
    std::erase_if(residuals, [](const Residual& residual) { return residual.observation->kind != kMemInfo; });
    u64 mismatches = 0;
    std::optional<Int> largest;
    for (std::size_t i = 1; i < residuals.size(); ++i) {
        Int apart = distance(residuals[i - 1], residuals[i]);
        mismatches += apart != 0 ? 1 : 0;
        largest = std::max(largest.value_or(0), apart);
    }
    return Json::Object{{"observation_count", u64{residuals.size()}},
                        {"mismatch_count", mismatches},
                        {"largest_difference_bytes", largest}};
}

}  // namespace

void add_history(const Incident& incident, Json::Object& evidence) {
    evidence["peak"] = peak_of(incident);
    evidence["lifetimes"] = lifetimes_of(incident);
    evidence["reconciliation"] = reconciliation_of(incident);
}

}  // namespace oracle
