// SPDX-License-Identifier: Apache-2.0
//
// Reads the `operation` record beside a failure and the calls around it.
#include "operation.h"

#include <algorithm>

#include "extent.h"
#include "policy.h"
#include "window_builder.h"

namespace memsnap {
namespace {

// An operation's records lie near its failure; other threads' records lie between.

// Written just before an OOM report, just after a foreign refusal.
std::optional<Event> find_operation_record(const EventStream& events, const std::vector<Event>& recorded,
                                           const Event& failure) {
    std::optional<Event> found;
    const auto consider = [&](const Event& event) {
        if (event.kind != Kind::operation || event.thread != failure.thread) return true;
        const bool before_report = failure.kind == Kind::block_oom && event.ticket < failure.ticket;
        const bool after_refusal = failure.kind == Kind::fail && event.call_ticket() == failure.ticket;
        if (before_report || after_refusal) found = event;
        return !after_refusal;
    };
    for (const Event& event : recorded)
        consider(event);
    if (found) return found;
    const uint64_t back = std::min(failure.ticket, policy::kOperationReach_count);
    events.for_each(std::max(events.begin_ticket(), failure.ticket - back),
                    std::min(events.end_ticket(), failure.ticket + policy::kOperationReach_count + 1),
                    consider);
    return found;
}

bool read_event(const EventStream& events, const std::vector<Event>& recorded, uint64_t ticket,
                Event& event) {
    const auto kept = std::ranges::find(recorded, ticket, &Event::ticket);
    if (kept != recorded.end()) {
        event = *kept;
        return true;
    }
    return ticket < events.end_ticket() && events.read(ticket, event);
}

bool changes_mappings(const EventStream& events, const Event& event) {
    if (event.kind == Kind::ok) return event.op == Op::cuMemMap;
    return event.kind == Kind::free && !event.has(kCapturing) && freed_object(events, event) != Object::host;
}

// From the observation back to the refusal it belongs to: nothing of this process may have been given back.
bool unchanged_since_refusal(const EventStream& events, const Event& observation,
                             const Operation& operation) {
    if (operation.first_refused_ticket > observation.ticket) return false;
    for (uint64_t ticket = observation.ticket; ticket-- > operation.first_refused_ticket;) {
        Event event;
        if (!events.read(ticket, event)) return false;
        if (changes_mappings(events, event)) return false;
        if (event.kind == Kind::fail && event.thread == observation.thread) return true;
    }
    return false;
}

// PyTorch without its cache asks how much is free after the refusal, for the text of its exception.
void observe_after_refusal(const EventStream& events, const Event& failure, Operation& operation) {
    const uint64_t end = std::min(events.end_ticket(), failure.ticket + policy::kOperationReach_count + 1);
    events.for_each(std::min(failure.ticket + 1, end), end, [&](const Event& event) {
        if (event.kind != Kind::mem_info || event.thread != failure.thread) return true;
        const bool usable = event.code == 0 && event.device == failure.device && !event.has(kUnavailable);
        if (usable && unchanged_since_refusal(events, event, operation)) {
            operation.observation = event;
            operation.observed_at_failure = true;
        }
        return false;
    });
}

uint64_t round_up(uint64_t bytes, uint64_t granule) {
    const uint64_t rest = bytes % granule;
    if (rest == 0) return bytes;
    const uint64_t more = granule - rest;
    return bytes > UINT64_MAX - more ? UINT64_MAX : bytes + more;
}

}  // namespace

Operation read_operation(const EventStream& events, const std::vector<Event>& recorded, const Event& failure,
                         bool path_hooked) {
    Operation operation;
    const auto record = find_operation_record(events, recorded, failure);
    if (failure.kind == Kind::fail) {
        operation.device_call = DeviceCall::failed;
        operation.first_refused_ticket = failure.ticket;
        operation.refused_op = failure.op;
        operation.refused_bytes = operation.last_attempt_bytes = failure.size_bytes;
        if (failure.has(kFromTorch)) observe_after_refusal(events, failure, operation);
        return operation;  // nothing observes the device between a foreign refusal and its report
    }
    if (!record) return operation;
    operation.last_attempt_bytes = record->last_attempt_bytes();
    if (record->call_ticket() != kNoTicket) {
        operation.device_call = DeviceCall::failed;
        operation.first_refused_ticket = record->call_ticket();
        operation.refused_op = record->op;
        operation.refused_bytes = record->first_failed_call_bytes();
    } else if (path_hooked) {
        operation.device_call = DeviceCall::none_made;
    }
    Event observation;
    const uint64_t observed = record->last_observation_ticket();
    const bool usable = observed != kNoTicket && observed < failure.ticket &&
                        read_event(events, recorded, observed, observation) &&
                        observation.kind == Kind::mem_info && observation.code == 0 &&
                        observation.device == failure.device && !observation.has(kUnavailable);
    if (!usable) return operation;
    operation.observation = observation;
    operation.observed_at_failure = operation.device_call == DeviceCall::failed &&
                                    unchanged_since_refusal(events, observation, operation);
    return operation;
}

std::optional<Event> tap_of_failure(const EventStream& events, const Event& failure) {
    if (failure.kind != Kind::block_oom) return std::nullopt;
    const uint64_t reach = std::min(failure.ticket, policy::kTapReach_count);
    const uint64_t first = std::max(events.begin_ticket(), failure.ticket - reach);
    for (uint64_t ticket = failure.ticket; ticket-- > first;) {
        Event event;
        const bool same =
            events.read(ticket, event) && event.thread == failure.thread && event.device == failure.device;
        if (same && event.kind == Kind::block_oom) break;
        if (same && event.kind == Kind::tap_oom) return event;
    }
    return std::nullopt;
}

uint64_t release_begin_ticket(const EventStream& events, const Operation& operation, const Event& failure,
                              Origin origin) {
    if (origin == Origin::recorder) return operation.first_refused_ticket;
    for (uint64_t ticket = failure.ticket; ticket-- > events.begin_ticket();) {
        Event event;
        const bool served = events.kind(ticket) == Kind::block_alloc && events.read(ticket, event) &&
                            event.device == failure.device;
        if (served) return ticket + 1;
    }
    return events.begin_ticket();
}

Measure segment_request(const Operation& operation, const Event& failure, bool caching,
                        uint64_t mapped_tail_bytes) {
    const uint64_t request = failure.size_bytes;
    if (!caching) return Measure::observed(request);
    if (operation.device_call != DeviceCall::failed) return Measure::derived(allocation_size_bytes(request));
    if (operation.refused_op != Op::cuMemCreate) return Measure::observed(operation.last_attempt_bytes);
    // A mapping fails at its first page without memory and is rolled back: count the pages it would have
    // needed.
    const uint64_t page = std::max<uint64_t>(operation.refused_bytes, 1);
    const uint64_t unmapped = request > mapped_tail_bytes ? request - mapped_tail_bytes : 0;
    return Measure::derived(std::max(operation.last_attempt_bytes, round_up(unmapped, page)));
}

}  // namespace memsnap
