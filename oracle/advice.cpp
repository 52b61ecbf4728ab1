// SPDX-License-Identifier: Apache-2.0
//
// The texts. Rule: nothing is put together here; a text is printed as it stands.
#include "advice.h"

namespace oracle {

namespace {

// Expandable segments give back whole pages only.
bool expandable_would_help(const Question& question) {
    return !question.expandable_segments &&
           question.device_free_bytes.value_or(0) + question.remappable_bytes >=
               question.segment_request_bytes;
}

}  // namespace

std::optional<Advice> advice_for(Hypothesis hypothesis, const Question& question, const Decision& decision) {
    const auto& own = decision.opinions[hypothesis];
    if (own.standing != Standing::kPrimary && own.standing != Standing::kContributing) return std::nullopt;
    switch (hypothesis) {
        case kLiveSet:
            if (decision.qualifiers.contains("larger_than_card"))
                return Advice{"split the request: it is larger than the whole card",
                              "the largest request of the run is smaller than the card"};
            if (decision.qualifiers.contains("cap"))
                return Advice{"raise the per-process memory limit, or lower what the step holds at once",
                              "the request succeeds, or peak active bytes fall by the deficit"};
            return Advice{
                "lower what the step holds at once: batch, sequence length, activation checkpointing, "
                "sharding",
                "peak active bytes fall by at least the deficit and the request succeeds"};
        case kRetention:
            return Advice{
                "release what earlier steps still hold: drop or detach references at the largest sites "
                "listed",
                "active bytes at the same point of five more steps no longer rise"};
        case kFragmentation:
            if (own.qualifiers.contains("incompatible"))
                return Advice{
                    "let the pools share memory: one stream or pool for this work, nothing else changed",
                    "the request succeeds and incompatible free bytes fall"};
            return Advice{expandable_would_help(question)
                              ? "expandable_segments:True on the same run, nothing else changed"
                              : "allocate long-lived blocks before the short-lived: small survivors hold the "
                                "holes apart",
                          "the request succeeds, or the largest free extent reaches the request"};
        case kExternal:
            if (own.qualifiers.contains("in_process"))
                return Advice{
                    "disable the named library's buffers one at a time, or reserve headroom for them",
                    "outside bytes at the failure fall by at least the deficit"};
            return Advice{"end or move the other holder of the card, or reserve headroom for it",
                          "outside bytes at the failure fall by at least the deficit"};
        case kHypotheses:
            break;
    }
    return std::nullopt;
}

std::optional<Advice> advice_for_answers(const Words& answers) {
    if (answers.contains("deferred_free"))
        return Advice{"synchronise before the large request, or retry it once: the hole was freed too late",
                      "the same request succeeds when retried"};
    if (answers.contains("fit_ignored"))
        return Advice{"retry the request once: a hole that fits was there",
                      "the same request succeeds when retried"};
    if (answers.contains("driver_refused"))
        return Advice{"look at limits outside the allocator: cgroup, MIG, handles, address space",
                      "the same device call succeeds with the same free bytes"};
    if (answers.contains("cache_hoarding"))
        return Advice{"empty PyTorch's cache before the library allocates, or cap the cache",
                      "the library's allocation succeeds"};
    if (answers.contains("cache_pinned"))
        return Advice{"expandable_segments:True, so that the cache can give back what it does not use",
                      "the library's allocation succeeds"};
    return std::nullopt;
}

std::optional<std::string_view> probe_for(Hypothesis hypothesis, const Question& question,
                                          const Decision& decision) {
    if (decision.opinions[hypothesis].standing != Standing::kUndecidable) return std::nullopt;
    if (!question.total_bytes && question.from_snapshot)
        return "the card's size is unknown: give it with --card";
    if (!question.total_bytes)
        return "the card's size was never observed: let the program ask cudaMemGetInfo, or sample the device";
    if (question.total_stated && decision.qualifiers.contains("inconsistent_numbers"))
        return "the numbers and the stated size of the card contradict each other: give another with --card";
    if (!decision.numbers)
        return "the numbers at the failure contradict each other or are missing: record the job from its "
               "start";
    bool judges_external = hypothesis == kExternal && !question.others_bytes;
    if (hypothesis != kFragmentation && !judges_external && decision.qualifiers.contains("births_unknown")) {
        if (question.from_recorder)
            return "armed too late: when part of what is live was allocated is not known: arm earlier, or "
                   "use standby";
        return "when part of what is live was allocated is not known: record the job from its start";
    }
    if (hypothesis == kRetention) {
        if (question.basis == Basis::kTooFew)
            return "fewer than six comparable steps ended before the failure: run longer, or mark steps";
        if (question.basis == Basis::kUncertified)
            return "steps could only be guessed from allocations: mark steps";
        if (question.basis == Basis::kLapped)
            return "the ring went round before steps could be inferred: mark steps, or enlarge the ring";
    }
    if (hypothesis == kExternal && !question.others_bytes)
        return "bytes of other processes are unknown: sample the device with NVML";
    if (decision.qualifiers.contains("fit_unexplained"))
        return "stream and pool of a hole that fits are unknown: load the torch tap";
    if (question.device_free_bytes)
        return "the per-process limit is unknown: note it with the Python package";
    return "device-free at the failure is unknown: let the program ask cudaMemGetInfo, or sample the device";
}

}  // namespace oracle
