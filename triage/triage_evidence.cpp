// SPDX-License-Identifier: Apache-2.0
//
// Interval arithmetic, and one mapping for each allocator.
#include "triage_evidence.h"

#include <algorithm>

#include "extent.h"
#include "policy.h"

namespace memsnap {
namespace {

uint64_t clamped(Wide value) {
    return static_cast<uint64_t>(std::clamp(value, Wide{0}, Wide{UINT64_MAX}));
}

Measure plus(const Measure& one, const Measure& other) {
    if (!one.known() || !other.known()) return {};
    return Measure::between(clamped(Wide{one.low} + other.low), clamped(Wide{one.high} + other.high));
}

Measure minus(const Measure& one, const Measure& less) {
    if (!one.known() || !less.known()) return {};
    return Measure::between(clamped(Wide{one.low} - less.high), clamped(Wide{one.high} - less.low));
}

bool meet(const Measure& one, const Measure& other) {
    return !one.known() || !other.known() || (one.low <= other.high && other.low <= one.high);
}

// What both allow; they meet.
Measure both(const Measure& one, const Measure& other) {
    if (!one.known()) return other;
    if (!other.known()) return one;
    return Measure::between(std::max(one.low, other.low), std::min(one.high, other.high));
}

Measure hull(const Measure& one, const Measure& other) {
    return Measure::between(std::min(one.low, other.low), std::max(one.high, other.high));
}

bool holds(const Measure& measure, uint64_t value) {
    return measure.low <= value && value <= measure.high;
}

// Bytes in use of PyTorch's: free blocks of private pools are printed with them.
Measure allocated_of(const LogMessage& message) {
    return message.private_pools.known() ? minus(message.allocated, message.private_pools)
                                         : message.allocated;
}

// The oldest format prints what is cached: by version without or with what is allocated.
Measure reserved_of_cached(const LogMessage& message) {
    const Measure beside = plus(message.allocated, message.cached);
    const auto fits = [&](const Measure& reserved) {
        return !message.total.known() || !message.device_free.known() ||
               Wide{reserved.low} + message.device_free.low <= Wide{message.total.high};
    };
    const bool within = message.cached.high >= message.allocated.low;
    if (!within) return beside;
    if (!fits(beside)) return message.cached;
    return hull(message.cached, beside);
}

Measure reserved_of(const LogMessage& message) {
    if (message.reserved.known()) return message.reserved;
    if (message.cached.known() && message.allocated.known()) return reserved_of_cached(message);
    return plus(message.allocated, message.unallocated);
}

// A segment is a multiple of 2 MiB: often only one of them rounds to what is printed.
Measure whole_segment(const Measure& asked) {
    const uint64_t granule = kSmallSegment_bytes;
    const Wide low = (Wide{asked.low} + granule - 1) / granule * granule;
    const Wide high = Wide{asked.high} / granule * granule;
    if (low > high) return asked;
    if (low == high) return Measure::derived(clamped(low));
    return Measure::between(clamped(low), clamped(high));
}

// From the segment that was asked for to the request that it was for.
Measure request_of(const Measure& segment) {
    const uint64_t granule = kSmallSegment_bytes;
    if (holds(segment, kSmallSegment_bytes)) return Measure::between(1, kSmallRequestLimit_bytes);
    if (holds(segment, kLargeSegment_bytes))
        return Measure::between(kSmallRequestLimit_bytes + 1, kLargeSegment_bytes);
    if (segment.low < kLargeRequest_bytes) return segment;
    return Measure::between(segment.low - granule + 1, segment.high);
}

// Bytes of other processes. Inside a container the own one is listed as a stranger: it holds a little more
// than PyTorch reserved.
void add_others(const LogMessage& message, Evidence& evidence) {
    if (message.processes.empty() && !message.own_named) return;
    Measure sum = Measure::derived(0);
    for (const Measure& one : message.processes)
        sum = plus(sum, one);
    if (!sum.known()) return;
    Outside& outside = evidence.outside;
    if (message.own_named) {
        outside.others = sum;
        outside.other_process_count = message.processes.size();
        return;
    }
    if (!evidence.reserved.known()) return;
    std::vector<Measure> may_be_own, just_above;
    const Wide above = Wide{evidence.reserved.high} + policy::kUnnamedOutsideAllowance_bytes;
    for (const Measure& one : message.processes) {
        if (one.high < evidence.reserved.low) continue;
        may_be_own.push_back(one);
        if (Wide{one.low} <= above) just_above.push_back(one);
    }
    const std::vector<Measure>& own = just_above.empty() ? may_be_own : just_above;
    if (own.empty()) {
        outside.others = sum;
        outside.other_process_count = message.processes.size();
        return;
    }
    outside.others = minus(sum, own.front());
    for (const Measure& one : own)
        outside.others = hull(outside.others, minus(sum, one));
    if (just_above.empty()) outside.others = hull(outside.others, sum);
    if (just_above.size() == 1) outside.other_process_count = message.processes.size() - 1;
}

// What was called: a version that prints a limit and prints none has none, so the driver was asked.
void add_call(const LogMessage& message, const LogContext& context, Evidence& evidence) {
    const Measure& needed = evidence.segment_request;
    if (context.refusal != nullptr) {
        evidence.device_call = DeviceCall::failed;
        evidence.free_observed_at_failure = !context.refusal->expandable;
    } else if (evidence.cap.known()) {
        const Wide least = Wide{evidence.reserved.low} + needed.low;
        const Wide most = Wide{evidence.reserved.high} + needed.high;
        if (least > Wide{evidence.cap.high}) evidence.device_call = DeviceCall::none_made;
        if (most <= Wide{evidence.cap.low}) evidence.device_call = DeviceCall::failed;
        evidence.free_observed_at_failure = evidence.device_call == DeviceCall::failed;
    } else if (!message.cap_untold && message.complete) {
        evidence.device_call = DeviceCall::failed;
        evidence.free_observed_at_failure = true;
    }
}

void add_deferred(const LogMessage& message, const LogContext& context, Evidence& evidence) {
    const LogStatistics* const statistics = context.statistics;
    if (statistics != nullptr && statistics->active.known() && statistics->allocated.known()) {
        evidence.deferred = minus(statistics->active, statistics->allocated);
    } else if (message.active.known()) {
        evidence.deferred = minus(message.active, message.allocated);
    } else if (evidence.reserved.known() && evidence.allocated.known()) {
        evidence.deferred =
            Measure::between(0, clamped(Wide{evidence.reserved.high} - evidence.allocated.low));
    }
}

void caching(const LogMessage& message, const LogContext& context, Evidence& evidence) {
    evidence.total = message.total;
    evidence.device_free = message.device_free;
    evidence.allocated = allocated_of(message);
    evidence.reserved = reserved_of(message);
    if (message.asked.known()) evidence.segment_request = whole_segment(message.asked);
    if (const LogStatistics* const statistics = context.statistics) {
        evidence.allocated = both(evidence.allocated, statistics->allocated);
        evidence.reserved = both(evidence.reserved, statistics->reserved);
    }
    if (const LogRefusal* const refusal = context.refusal) {
        evidence.total = refusal->total;
        evidence.expandable_segments = refusal->expandable;
        if (!refusal->expandable) {
            evidence.device_free = refusal->device_free;
            evidence.segment_request = refusal->asked;
        }
    }
    if (message.format == TriageFormat::F8) {
        evidence.request = evidence.segment_request = message.asked;
    } else if (evidence.segment_request.known()) {
        evidence.request = request_of(evidence.segment_request);
    }
    evidence.cap = message.allowed;
    add_deferred(message, context, evidence);
    add_others(message, evidence);
    if (evidence.segment_request.known() && evidence.reserved.known()) add_call(message, context, evidence);
}

// The driver's own pool: what it reserves is not told, only that it lies between the two.
void asynchronous(const LogMessage& message, Evidence& evidence) {
    evidence.allocator = FailedAllocator::pytorch_uncached;
    evidence.total = message.total;
    evidence.device_free = message.device_free;
    evidence.allocated = message.allocated;
    evidence.request = evidence.segment_request = message.asked;
    if (message.allowed.known() && message.total.known() && message.allowed.low < message.total.low)
        evidence.cap = message.allowed;
    const Measure beside = minus(message.total, message.device_free);
    if (beside.known() && message.allocated.known())
        evidence.reserved =
            Measure::between(message.allocated.low, std::max(message.allocated.low, beside.high));
    evidence.deferred = Measure::derived(0);
    evidence.device_call = DeviceCall::failed;
}

// A pool with a limit of its own: the limit stands for the card. PyTorch has given every cached block back
// before it prints this, so what it holds is in use.
void metal(const LogMessage& message, Evidence& evidence) {
    evidence.total = message.allowed;
    evidence.allocated = evidence.reserved = message.allocated;
    evidence.device_free = minus(message.allowed, plus(message.allocated, message.others));
    evidence.request = evidence.segment_request = message.asked;
    evidence.deferred = Measure::derived(0);
    evidence.device_call = DeviceCall::failed;
}

// Before the first tensor: nothing is allocated, and what is wanted is what the engine would take.
void startup(const LogMessage& message, Evidence& evidence) {
    evidence.total = message.total;
    evidence.device_free = message.device_free;
    evidence.allocated = evidence.reserved = evidence.deferred = Measure::derived(0);
    evidence.request = evidence.segment_request = message.asked;
    evidence.device_call = DeviceCall::none_made;
}

void foreign(const LogMessage& message, Evidence& evidence) {
    evidence.allocator = FailedAllocator::foreign;
    evidence.segment_request = message.asked;
    evidence.total = message.total;
    evidence.device_free = message.device_free;
}

}  // namespace

bool is_caching(TriageFormat format) {
    switch (format) {
        case TriageFormat::F1:
        case TriageFormat::F2:
        case TriageFormat::F3:
        case TriageFormat::F4:
        case TriageFormat::F5:
        case TriageFormat::F5b:
        case TriageFormat::F6:
        case TriageFormat::F6b:
        case TriageFormat::F8:
        case TriageFormat::F15:
        case TriageFormat::memory_summary:
        case TriageFormat::memory_stats:
            return true;
        case TriageFormat::F0:
        case TriageFormat::F7:
        case TriageFormat::F7b:
        case TriageFormat::F9:
        case TriageFormat::F10:
        case TriageFormat::F11:
        case TriageFormat::F12:
        case TriageFormat::F13:
        case TriageFormat::F14:
        case TriageFormat::NCCL:
        case TriageFormat::NVSHMEM:
        case TriageFormat::RMM:
        case TriageFormat::Spark:
            return false;
    }
    return false;
}

Evidence evidence_of(const LogMessage& message, const LogContext& context) {
    Evidence evidence;
    evidence.device = message.device.value_or(-1);
    if (is_caching(message.format)) {
        caching(message, context, evidence);
    } else if (message.format == TriageFormat::F7 || message.format == TriageFormat::F7b) {
        asynchronous(message, evidence);
    } else if (message.format == TriageFormat::F10) {
        metal(message, evidence);
    } else if (message.format == TriageFormat::F14) {
        startup(message, evidence);
    } else {
        foreign(message, evidence);
    }
    // Without a history nothing bounds what earlier steps still hold but what is allocated at all.
    if (evidence.allocated.known()) evidence.growth.retained = evidence.allocated.high;
    return evidence;
}

bool same_instant(const LogMessage& message, const LogStatistics& statistics) {
    if (!is_caching(message.format) || !message.allocated.known() || !statistics.allocated.known())
        return false;
    if (message.device && statistics.device && *message.device != *statistics.device) return false;
    const Measure reserved = reserved_of(message);
    return meet(allocated_of(message), statistics.allocated) && reserved.known() &&
           statistics.reserved.known() && meet(reserved, statistics.reserved);
}

bool same_call(const LogMessage& message, const LogRefusal& refusal) {
    if (!is_caching(message.format) || message.device != refusal.device) return false;
    const bool same_card = message.total.known() && meet(message.total, refusal.total);
    if (refusal.expandable) return same_card;
    return same_card && meet(message.device_free, refusal.device_free) && meet(message.asked, refusal.asked);
}

bool active_told(const LogMessage& message, const LogContext& context) {
    const LogStatistics* const statistics = context.statistics;
    const bool by_statistics =
        statistics != nullptr && statistics->active.known() && statistics->allocated.known();
    return by_statistics || message.active.known() || !is_caching(message.format);
}

}  // namespace memsnap
