// SPDX-License-Identifier: Apache-2.0
//
// The texts, by hypothesis, status and qualifier.
#include "advice.h"

namespace memsnap {
namespace {

using enum Hypothesis;

// clang-format off
#define MEMSNAP_FIXES(X) \
    X(kSplitRequest, "split the request: it is larger than the whole card") \
    X(kRaiseCap, "raise the per-process memory limit, or lower what the step holds at once") \
    X(kHoldLess, "lower what the step holds at once: batch, sequence length, activation checkpointing, sharding") \
    X(kReleaseSurvivors, "release what earlier steps still hold: drop or detach references at the largest sites listed") \
    X(kSharePools, "let the pools share memory: one stream or pool for this work, nothing else changed") \
    X(kExpandable, "expandable_segments:True on the same run, nothing else changed") \
    X(kKeepApart, "allocate long-lived blocks before the short-lived: small survivors hold the holes apart") \
    X(kDisableLibrary, "disable the named library's buffers one at a time, or reserve headroom for them") \
    X(kMoveHolder, "end or move the other holder of the card, or reserve headroom for it") \
    X(kSynchronise, "synchronise before the large request, or retry it once: the hole was freed too late") \
    X(kRetry, "retry the request once: a hole that fits was there") \
    X(kLookBeyond, "look at limits outside the allocator: cgroup, MIG, handles, address space") \
    X(kEmptyCache, "empty PyTorch's cache before the library allocates, or cap the cache") \
    X(kExpandableGivesBack, "expandable_segments:True, so that the cache can give back what it does not use")
#define MEMSNAP_PROOFS(X) \
    X(kRequestBelowCard, "the largest request of the run is smaller than the card") \
    X(kSucceedsOrPeakFalls, "the request succeeds, or peak active bytes fall by the deficit") \
    X(kPeakFalls, "peak active bytes fall by at least the deficit and the request succeeds") \
    X(kStopsRising, "active bytes at the same point of five more steps no longer rise") \
    X(kIncompatibleFalls, "the request succeeds and incompatible free bytes fall") \
    X(kExtentReaches, "the request succeeds, or the largest free extent reaches the request") \
    X(kOutsideFalls, "outside bytes at the failure fall by at least the deficit") \
    X(kRetrySucceeds, "the same request succeeds when retried") \
    X(kCallSucceeds, "the same device call succeeds with the same free bytes") \
    X(kLibraryServed, "the library's allocation succeeds")
#define MEMSNAP_PROBES(X) \
    X(kRecordFromStart, "the numbers at the failure contradict each other or are missing: record the job from its start") \
    X(kCardUnknown, "the card's size was never observed: let the program ask cudaMemGetInfo, or sample the device") \
    X(kCardOfImport, "the card's size is unknown: give it with --card") \
    X(kCardContradicts, "the numbers and the stated size of the card contradict each other: give another with --card") \
    X(kTooFewSteps, "fewer than six comparable steps ended before the failure: run longer, or mark steps") \
    X(kMarkSteps, "steps could only be guessed from allocations: mark steps") \
    X(kEnlargeRing, "the ring went round before steps could be inferred: mark steps, or enlarge the ring") \
    X(kArmEarlier, "armed too late: when part of what is live was allocated is not known: arm earlier, or use standby") \
    X(kBornBefore, "when part of what is live was allocated is not known: record the job from its start") \
    X(kSampleDevice, "bytes of other processes are unknown: sample the device with NVML") \
    X(kLoadTap, "stream and pool of a hole that fits are unknown: load the torch tap") \
    X(kNoteCap, "the per-process limit is unknown: note it with the Python package") \
    X(kAskDevice, "device-free at the failure is unknown: let the program ask cudaMemGetInfo, or sample the device")
// clang-format on

#define MEMSNAP_TEXT(id, text) constexpr std::string_view id = text;
MEMSNAP_FIXES(MEMSNAP_TEXT)
MEMSNAP_PROOFS(MEMSNAP_TEXT)
MEMSNAP_PROBES(MEMSNAP_TEXT)
#undef MEMSNAP_TEXT

// Expandable segments give back whole pages only: a survivor in each page, and they change nothing.
bool expandable_would_help(const Evidence& evidence) {
    const Wide free = evidence.device_free.known() ? Wide{evidence.device_free.low} : Wide{0};
    return !evidence.expandable_segments && evidence.segment_request.known() &&
           free + Wide{evidence.extents.remappable} >= Wide{evidence.segment_request.low};
}

Advice remedy(Hypothesis one, const Finding& finding, const Evidence& evidence, const Verdict& verdict) {
    switch (one) {
        case live_set:
            if (verdict.qualifiers.has(Qualifier::larger_than_card)) {
                return {kSplitRequest, kRequestBelowCard, ""};
            }
            if (verdict.qualifiers.has(Qualifier::cap)) {
                return {kRaiseCap, kSucceedsOrPeakFalls, ""};
            }
            return {kHoldLess, kPeakFalls, ""};
        case retention:
            return {kReleaseSurvivors, kStopsRising, ""};
        case fragmentation:
            if (finding.qualifiers.has(Qualifier::incompatible)) {
                return {kSharePools, kIncompatibleFalls, ""};
            }
            return {expandable_would_help(evidence) ? kExpandable : kKeepApart, kExtentReaches, ""};
        case external:
            if (finding.qualifiers.has(Qualifier::in_process)) {
                return {kDisableLibrary, kOutsideFalls, ""};
            }
            return {kMoveHolder, kOutsideFalls, ""};
    }
    return {};
}

std::string_view probe(Hypothesis one, const Evidence& evidence, const Verdict& verdict) {
    if (!evidence.total.known())
        return evidence.origin == Origin::torch_snapshot ? kCardOfImport : kCardUnknown;
    if (evidence.total_stated && verdict.qualifiers.has(Qualifier::inconsistent_numbers))
        return kCardContradicts;
    if (!verdict.numbers) {
        return kRecordFromStart;
    }
    const bool judges_external = one == external && !evidence.outside.others.known();
    if (one != fragmentation && !judges_external && verdict.qualifiers.has(Qualifier::births_unknown))
        return evidence.origin == Origin::recorder ? kArmEarlier : kBornBefore;
    switch (one) {
        case retention:
            switch (evidence.growth.basis) {
                case GrowthBasis::too_few:
                    return kTooFewSteps;
                case GrowthBasis::uncertified:
                    return kMarkSteps;
                case GrowthBasis::lapped:
                    return kEnlargeRing;
                case GrowthBasis::marked:
                case GrowthBasis::certified:
                    break;
            }
            break;
        case external:
            if (!evidence.outside.others.known()) {
                return kSampleDevice;
            }
            break;
        case live_set:
        case fragmentation:
            break;
    }
    if (verdict.qualifiers.has(Qualifier::fit_unexplained)) {
        return kLoadTap;
    }
    if (evidence.device_free.known()) return kNoteCap;
    return kAskDevice;
}

}  // namespace

Advice advise(Hypothesis hypothesis, const Evidence& evidence, const Verdict& verdict) {
    const Finding& finding = verdict.of(hypothesis);
    switch (finding.status) {
        case Status::primary:
        case Status::contributing:
            return remedy(hypothesis, finding, evidence, verdict);
        case Status::rejected:
            return {};
        case Status::undecidable:
            return {"", "", probe(hypothesis, evidence, verdict)};
    }
    return {};
}

Advice advise_answer(const Verdict& verdict) {
    const Qualifiers& q = verdict.qualifiers;
    if (q.has(Qualifier::deferred_free)) {
        return {kSynchronise, kRetrySucceeds, ""};
    }
    if (q.has(Qualifier::fit_ignored)) {
        return {kRetry, kRetrySucceeds, ""};
    }
    if (q.has(Qualifier::driver_refused)) {
        return {kLookBeyond, kCallSucceeds, ""};
    }
    if (q.has(Qualifier::cache_hoarding)) {
        return {kEmptyCache, kLibraryServed, ""};
    }
    if (q.has(Qualifier::cache_pinned)) {
        return {kExpandableGivesBack, kLibraryServed, ""};
    }
    return {};
}

#define MEMSNAP_TEXT(id, text) id,
std::span<const std::string_view> fixes() {
    static constexpr std::string_view kAll[] = {MEMSNAP_FIXES(MEMSNAP_TEXT)};
    return kAll;
}

std::span<const std::string_view> proofs() {
    static constexpr std::string_view kAll[] = {MEMSNAP_PROOFS(MEMSNAP_TEXT)};
    return kAll;
}

std::span<const std::string_view> probes() {
    static constexpr std::string_view kAll[] = {MEMSNAP_PROBES(MEMSNAP_TEXT)};
    return kAll;
}
#undef MEMSNAP_TEXT

}  // namespace memsnap
