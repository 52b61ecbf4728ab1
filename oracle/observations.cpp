// SPDX-License-Identifier: Apache-2.0
//
// What was seen of the card, and who holds what is not PyTorch's (VERDICT.md §5). Rule: an observation counts
// for the baseline only when it is older than the failing operation.
#include <map>

#include "clock.h"
#include "inputs.h"
#include "thresholds.h"

namespace oracle {
namespace {

const Event* last_before(const Recording& recording, int device, u8 kind, u64 ticket,
                         std::initializer_list<const std::optional<Event>*> pinned) {
    const Event* last = nullptr;
    auto offer = [&](const Event& event) {
        if (event.kind == kind && event.device == device && event.ticket < ticket &&
            (last == nullptr || event.ticket >= last->ticket))
            last = &event;
    };
    for (const auto* event : pinned) {
        if (*event) offer(**event);
    }
    for (const auto& event : recording.events)
        offer(event);
    return last;
}

// Both pinned observations in their order: the first that there is and that is older than the operation.
std::optional<Event> baseline_of(const Scene& scene, const Operation& operation, const Inputs& inputs) {
    const auto* pinned = scene.recording.pinned_of(inputs.device);
    if (pinned == nullptr) return std::nullopt;
    const auto& boundaries = scene.recording.file->boundaries;
    bool closed = std::any_of(boundaries.begin(), boundaries.end(), [&](const Boundary& boundary) {
        return boundary.device == inputs.device && boundary.closed <= inputs.ticket;
    });
    auto counts = [&](const std::optional<Event>& event) {
        return event && is_observation(*event, inputs.device) && !is_untold(*scene.recording.file, *event) &&
               event->ticket < operation.begin;
    };
    if (closed && counts(pinned->before_first_boundary)) return pinned->before_first_boundary;
    return counts(pinned->first_observation) ? pinned->first_observation : std::nullopt;
}

void take_baseline(const Scene& scene, const Operation& operation, Inputs& inputs) {
    auto baseline = baseline_of(scene, operation, inputs);
    for (const auto& piece : scene.pieces.outside) {
        bool named = piece.device == inputs.device && piece.there_at(inputs.ticket) && piece.library != 0;
        bool grown = !baseline || (piece.birth != kNoTicket && piece.birth > baseline->ticket);
        if (named && grown) inputs.named_growth_bytes += piece.bytes;
    }
    if (!baseline) return;
    inputs.baseline_ticket = baseline->ticket;
    inputs.baseline_outside_bytes = outside_of(*baseline);
    Int others = 0;
    const auto& sample = scene.recording.pinned_of(inputs.device)->first_process_sample;
    if (sample && !sample->has(kUnavailable) && sample->ticket < operation.begin) others = sample->link;
    inputs.baseline_unattributed_bytes =
        less(less(*inputs.baseline_outside_bytes, others), inputs.named_bytes - inputs.named_growth_bytes);
}

// Whether processes of this job hold at least half of what the last sample before the instant says of others.
bool holder_shares_job(const Recording& recording, int device, u64 failing) {
    const auto* sample = process_sample_at(recording, device, failing, failing);
    if (sample == nullptr) return false;
    // Its neighbours stand between it and the sample before it.
    const auto* before = last_before(recording, device, kProcessSample, sample->ticket, {});
    Int in_job = 0;
    for (const auto& event : recording.events) {
        bool belongs = event.ticket < sample->ticket && (before == nullptr || event.ticket > before->ticket);
        if (belongs && event.kind == kNeighbour && event.device == device && event.code == kOfThisJob &&
            !event.has(kUnavailable))
            in_job += event.link;
    }
    return sample->link > 0 && 2 * in_job >= sample->link;
}

}  // namespace

const Event* process_sample_at(const Recording& recording, int device, u64 ticket, u64 limit) {
    const Event *last = nullptr, *next = nullptr;
    for (const auto& event : recording.events) {
        if (event.kind != kProcessSample || event.device != device || event.has(kUnavailable) ||
            event.ticket > limit)
            continue;
        if (event.ticket <= ticket) {
            last = &event;
        } else if (next == nullptr) {
            next = &event;
        }
    }
    return last != nullptr ? last : next;
}

bool is_untold(const File& file, const Event& observation) {
    return file.header.late() && !observation.has_totals();
}

Int outside_of(const Event& observation) {
    Int reserved = observation.has_totals() ? Int{observation.reserved_bytes} : Int{0};
    return less(less(observation.size, observation.link), reserved);
}

std::vector<Event> observations_of(const Recording& recording, int device) {
    std::vector<Event> found;
    auto offer = [&](const std::optional<Event>& event) {
        if (event && is_observation(*event, device)) found.push_back(*event);
    };
    if (const auto* pinned = recording.pinned_of(device)) {
        offer(pinned->before_first_boundary);
        offer(pinned->first_observation);
        offer(pinned->peak_outside);
        offer(pinned->last_observation);
        for (const auto& sample : pinned->samples)
            offer(sample);
    }
    for (const auto& event : recording.events)
        offer(event);
    return found;
}

void gather_outside(const Scene& scene, const Failed& failed, const Operation& operation, Inputs& inputs) {
    const auto& recording = scene.recording;
    const auto* pinned = recording.pinned_of(inputs.device);
    auto observations = observations_of(recording, inputs.device);

    if (operation.observation) {
        inputs.total_bytes = operation.observation->size;
        inputs.device_free_bytes = operation.observation->link;
        inputs.free_observed_at_failure = operation.free_observed;
    } else if (!observations.empty()) {
        inputs.total_bytes = observations.front().size;
        const Event* sample = nullptr;
        for (const auto& event : observations) {
            if (event.kind == kDeviceSample && event.ticket < inputs.ticket &&
                (sample == nullptr || event.ticket >= sample->ticket))
                sample = &event;
        }
        if (sample != nullptr && Int{sample->size} == *inputs.total_bytes &&
            failed.victim == Victim::kPytorch)
            inputs.device_free_bytes = sample->link;
    }
    bool traced = !operation.observation && operation.tap_oom && operation.tap_oom->link != kUntold;
    if (traced) inputs.device_free_bytes = operation.tap_oom->link;

    static const std::optional<Event> nothing;
    const auto* processes = last_before(recording, inputs.device, kProcessSample, inputs.ticket,
                                        {pinned != nullptr ? &pinned->first_process_sample : &nothing,
                                         pinned != nullptr ? &pinned->last_process_sample : &nothing});
    if (processes != nullptr && !processes->has(kUnavailable)) {
        inputs.others_bytes = processes->link;
        inputs.other_processes = processes->code;
    }
    inputs.holder_shares_job = holder_shares_job(recording, inputs.device, inputs.ticket);
    const auto* cap = last_before(recording, inputs.device, kCap, inputs.ticket,
                                  {pinned != nullptr ? &pinned->last_cap : &nothing});
    if (cap != nullptr && cap->link != 0) inputs.cap_bytes = cap->link;

    for (const auto& piece : scene.pieces.outside) {
        if (piece.device == inputs.device && piece.there_at(inputs.ticket) && piece.library != 0)
            inputs.named_bytes += piece.bytes;
    }
    take_baseline(scene, operation, inputs);

    auto failed_at = monotonic_ns(*recording.file, failed.event.time);
    for (const auto& event : observations) {
        auto seen_at = monotonic_ns(*recording.file, event.time);
        if (event.ticket >= inputs.ticket || is_untold(*recording.file, event) || !failed_at || !seen_at ||
            *failed_at - *seen_at < thresholds::kTransientAgeNs)
            continue;
        inputs.earlier_outside_bytes =
            std::min(inputs.earlier_outside_bytes.value_or(outside_of(event)), outside_of(event));
    }
}

}  // namespace oracle
