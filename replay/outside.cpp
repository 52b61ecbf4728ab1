// SPDX-License-Identifier: Apache-2.0
//
// Baseline, names and earlier levels of the outside bytes.
#include "outside.h"

#include <algorithm>

#include "policy.h"

namespace memsnap {
namespace {

uint64_t minus(uint64_t value, uint64_t less) {
    return value > less ? value - less : 0;
}

// At or before the first boundary, else the first after the allocator's first segment.
std::optional<Event> baseline_of(const PinnedDevice& pinned, uint64_t operation_begin_ticket, bool bounded,
                                 bool late_start) {
    const auto usable = [&](const std::optional<Event>& candidate) {
        return candidate && candidate->ticket < operation_begin_ticket &&
               tells_outside(*candidate, late_start);
    };
    if (bounded && usable(pinned.before_first_boundary)) return pinned.before_first_boundary;
    if (usable(pinned.first_observation)) return pinned.first_observation;
    return std::nullopt;
}

// Live bytes of libraries whose name is known, born after a ticket.
uint64_t named_bytes_since(const Ledger& ledger, int device, uint64_t ticket) {
    uint64_t bytes = 0;
    ledger.for_each_foreign(device, [&](const ForeignObject& object) {
        if (object.library != 0 && object.birth_ticket > ticket) bytes += object.size_bytes;
    });
    return bytes;
}

}  // namespace

bool is_observation(const Event& event) {
    const bool answers = event.kind == Kind::mem_info || event.kind == Kind::device_sample;
    return answers && event.code == 0 && !event.has(kUnavailable);
}

bool tells_outside(const Event& event, bool late_start) {
    return is_observation(event) && (event.has(kTotals) || !late_start);
}

uint64_t outside_bytes(const Event& observation) {
    const uint64_t reserved = observation.has(kTotals) ? observation.reserved_bytes : 0;
    return minus(minus(observation.device_total_bytes(), observation.device_free_bytes()), reserved);
}

std::optional<uint64_t> told_outside_bytes(const std::optional<Event>& pinned, bool late_start) {
    if (!pinned || !tells_outside(*pinned, late_start)) return std::nullopt;
    return outside_bytes(*pinned);
}

void NeighbourLog::take(const Event& event) {
    const bool available = !event.has(kUnavailable);
    if (event.kind == Kind::neighbour && available && event.of_this_job()) waiting_bytes_ += event.link;
    if (event.kind != Kind::process_sample) return;
    if (available) {
        job_bytes_ = waiting_bytes_;
        others_bytes_ = event.other_process_bytes();
    }
    waiting_bytes_ = 0;
}

ObservationLog::ObservationLog(const Capture& capture, const PinnedDevice& pinned, int device,
                               uint64_t until_ticket, std::optional<uint64_t> instant_ns)
    : capture_(capture), device_(device), until_ticket_(until_ticket), instant_ns_(instant_ns) {
    for (const auto& fact :
         {pinned.before_first_boundary, pinned.first_observation, pinned.peak_outside,
          pinned.last_observation, pinned.first_processes, pinned.last_processes, pinned.cap}) {
        if (fact) take_fact(*fact);
    }
    for (const Event& sample : pinned.samples)
        take_fact(sample);
}

void ObservationLog::take(const Event& event) {
    take_fact(event);
    if (event.device == device_ && event.ticket < until_ticket_) neighbours_.take(event);
}

void ObservationLog::take_fact(const Event& event) {
    if (event.device != device_) return;
    const bool observes = is_observation(event);
    // What a card has in all does not change: later observations tell it as well.
    if (observes && !total_bytes_) total_bytes_ = event.device_total_bytes();
    if (event.ticket >= until_ticket_) return;
    if (observes) take_observation(event);
    const auto newer = [&](const std::optional<Event>& known) {
        return !known || known->ticket < event.ticket;
    };
    if (event.kind == Kind::process_sample && newer(last_processes_)) last_processes_ = event;
    if (event.kind == Kind::cap && !event.has(kUnavailable) && newer(cap_)) cap_ = event;
}

void ObservationLog::take_observation(const Event& event) {
    if (event.kind == Kind::device_sample && (!last_sample_ || last_sample_->ticket < event.ticket)) {
        last_sample_ = event;
    }
    if (!instant_ns_ || !tells_outside(event, capture_.late_start())) return;
    const auto seen_ns = capture_.monotonic_ns(event.time_counter);
    if (!seen_ns || *seen_ns + policy::kTransientAge_ns > *instant_ns_) return;
    earlier_outside_bytes_ = std::min(earlier_outside_bytes_.value_or(UINT64_MAX), outside_bytes(event));
}

Outside measure_outside(const PinnedDevice& pinned, const ObservationLog& log, const Ledger& ledger,
                        int device, uint64_t operation_begin_ticket, bool bounded) {
    Outside outside;
    const std::optional<Event> baseline =
        baseline_of(pinned, operation_begin_ticket, bounded, ledger.late_start());
    for (const ForeignBytes& foreign : ledger.foreign(device)) {
        if (foreign.library != 0) outside.named_bytes += foreign.bytes;
    }
    outside.named_growth = outside.named_bytes;
    if (baseline) outside.named_growth = named_bytes_since(ledger, device, baseline->ticket);
    // A sample that told nothing takes back what the one before it told.
    if (const auto& processes = log.last_processes(); processes && !processes->has(kUnavailable)) {
        outside.others = Measure::observed(processes->other_process_bytes());
        outside.other_process_count = processes->other_process_count();
    }
    if (baseline) {
        const uint64_t bytes = outside_bytes(*baseline);
        outside.baseline_ticket = baseline->ticket;
        outside.baseline_outside = Measure::observed(bytes);
        const auto& first = pinned.first_processes;
        const uint64_t others = first && first->ticket < operation_begin_ticket && !first->has(kUnavailable)
                                    ? first->other_process_bytes()
                                    : 0;
        const uint64_t named_before = outside.named_bytes - outside.named_growth;
        outside.baseline_unattributed = Measure::derived(minus(minus(bytes, others), named_before));
    }
    if (const auto earlier = log.earlier_outside_bytes()) {
        outside.earlier_outside = Measure::observed(*earlier);
    }
    outside.holder_shares_job = log.neighbours().job_holds_half();
    return outside;
}

}  // namespace memsnap
