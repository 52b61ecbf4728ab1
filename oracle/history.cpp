// SPDX-License-Identifier: Apache-2.0
//
// Peak, lifetimes and reconciliation over [B, f]. Rule: sums over sorted changes, never a state carried
// along.
#include <algorithm>
#include <unordered_map>

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

// The frees of what nobody saw born, by ticket.
std::vector<u64> unknown_frees(const Scene& scene) {
    std::unordered_multimap<u64, const Life*> by_birth;
    for (const auto& life : scene.lives) {
        if (life.object != kBlock) by_birth.emplace(life.birth, &life);
    }
    auto ends_one = [&](const Event& free) {
        if (free.link == kNoTicket) return false;
        auto [first, last] = by_birth.equal_range(free.link);
        return std::any_of(first, last, [&](const auto& born) {
            return born.second->from < free.ticket && free.ticket <= born.second->death;
        });
    };
    std::vector<u64> tickets;
    for (const auto& event : scene.recording.events) {
        bool frees_device = event.kind == kFree && is_death(event) && frees(event.call) != kHost;
        if (frees_device && !ends_one(event)) tickets.push_back(event.ticket);
    }
    return tickets;
}

// Which observations may be compared with each other: those of one number. Nothing: with none.
class Comparable {
  public:
    Comparable(const Scene& scene, int device)
        : late_(scene.recording.file->header.late()), frees_(unknown_frees(scene)) {
        for (const auto& event : scene.recording.events) {
            if (event.device == device && event.is_report()) reports_.push_back(event.ticket);
        }
    }
    std::optional<std::size_t> group_at(u64 ticket) const {
        auto before = [ticket](const std::vector<u64>& tickets) {
            return std::lower_bound(tickets.begin(), tickets.end(), ticket) - tickets.begin();
        };
        auto group = static_cast<std::size_t>(before(frees_));
        auto reported = before(reports_);
        bool in_doubt = late_ || group > 0;
        bool told = reported > 0 &&
                    (group == 0 || reports_[static_cast<std::size_t>(reported) - 1] > frees_[group - 1]);
        return in_doubt && !told ? std::nullopt : std::optional(group);
    }

  private:
    bool late_;
    std::vector<u64> frees_, reports_;
};

Json reconciliation_of(const Incident& incident) {
    const auto& events = incident.scene.recording.events;
    auto observed = std::count_if(events.begin(), events.end(), [&](const Event& event) {
        return event.kind == kMemInfo && is_observation(event, incident.inputs.device) &&
               event.ticket <= incident.inputs.ticket;
    });
    auto residuals = residuals_of(incident.scene, incident.inputs.device, incident.inputs.ticket);
    std::erase_if(residuals, [](const Residual& residual) { return residual.observation->kind != kMemInfo; });
    Comparable comparable(incident.scene, incident.inputs.device);
    auto group_of = [&](std::size_t i) { return comparable.group_at(residuals[i].observation->ticket); };
    u64 mismatches = 0;
    std::optional<Int> largest;
    for (std::size_t i = 1; i < residuals.size(); ++i) {
        if (!group_of(i) || group_of(i) != group_of(i - 1)) continue;
        Int apart = distance(residuals[i - 1], residuals[i]);
        mismatches += apart != 0 ? 1 : 0;
        largest = std::max(largest.value_or(0), apart);
    }
    return Json::Object{{"observation_count", static_cast<u64>(observed)},
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
