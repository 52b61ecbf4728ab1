// SPDX-License-Identifier: Apache-2.0
//
// Messages, statistics and warnings of one instant together; then the decision that a recording gets too.
#include "triage.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "triage_evidence.h"

namespace memsnap {
namespace {

using enum Hypothesis;

// Of one print: the message, and what tells of the same instant.
class Assessment {
  public:
    Assessment(LogFindings& log) : log_(log) {}

    TriagedIncident assess(LogMessage message) {
        TriagedIncident one;
        LogContext context;
        find_statistics(message, one, context);
        find_refusal(message, context);
        Incident& incident = one.analysis.incident.emplace();
        incident.evidence = evidence_of(message, context);
        incident.verdict = decide(incident.evidence);
        const bool told = active_told(message, context);
        // The bound of deferred bytes is a number, and not what they are.
        incident.verdict.qualifiers.add_if(!told && is_caching(message.format),
                                           Qualifier::deferred_free_not_excluded);
        incident.explanations = explain(incident.evidence, incident.verdict);
        one.message = std::move(message);
        one.kind = kind_of(incident, told);
        add_missing(incident, told, one);
        one.next = next_measurement(one);
        return one;
    }

  private:
    static bool one_writer(const LogPlace& one, const LogPlace& other) {
        return one.label == other.label || one.label.none() || other.label.none();
    }

    void find_statistics(const LogMessage& message, TriagedIncident& one, LogContext& context) const {
        for (const LogStatistics& statistics : log_.statistics) {
            if (!one_writer(message.place, statistics.place)) continue;
            if (same_instant(message, statistics)) {
                context.statistics = &statistics;
                one.statistics_line = statistics.place.line;
                one.other_statistics_line.reset();
                return;
            }
            const bool other_device =
                message.device && statistics.device && *message.device != *statistics.device;
            const bool full = statistics.allocated.known() && statistics.reserved.known();
            if (full && !other_device && is_caching(message.format))
                one.other_statistics_line = statistics.place.line;
        }
    }

    // The last refusal before the message, and all of its operation.
    void find_refusal(const LogMessage& message, LogContext& context) const {
        for (LogRefusal& refusal : log_.refusals) {
            if (refusal.taken || refusal.place.offset_bytes > message.place.offset_bytes) continue;
            if (!one_writer(message.place, refusal.place) || !same_call(message, refusal)) continue;
            refusal.taken = true;
            context.refusal = &refusal;
        }
        if (context.refusal != nullptr) take_first_try(*context.refusal);
    }

    // PyTorch asks, gives back what its cache can and asks again: two refusals, the second with more free.
    void take_first_try(const LogRefusal& last) const {
        for (LogRefusal& refusal : std::views::reverse(log_.refusals)) {
            const bool before = refusal.place.offset_bytes < last.place.offset_bytes;
            if (!before || !one_writer(refusal.place, last.place) || refusal.device != last.device) continue;
            refusal.taken |= refusal.asked == last.asked && refusal.total == last.total;
            return;
        }
    }

    // Fragmentation where nothing in use waits for a stream, and not otherwise.
    static std::string_view kind_of(const Incident& incident, bool told) {
        if (const auto primary = incident.verdict.primary()) return name(*primary);
        if (incident.verdict.answered) {
            for (const Qualifier answer : kAnswers) {
                if (incident.verdict.qualifiers.has(answer)) return name(answer);
            }
        }
        if (!told && incident.evidence.deferred.known()) {
            Evidence nothing_waits = incident.evidence;
            nothing_waits.deferred = Measure::derived(0);
            if (decide(nothing_waits).primary() == fragmentation) return "fragmentation_or_deferred_free";
        }
        return "undecidable";
    }

    static void add_missing(const Incident& incident, bool told, TriagedIncident& one) {
        const Evidence& evidence = incident.evidence;
        const Verdict& verdict = incident.verdict;
        const bool foreign = evidence.allocator == FailedAllocator::foreign;
        const auto add_if = [&](bool condition, Missing missing) {
            if (condition) one.missing.push_back(missing);
        };
        add_if(!(foreign ? evidence.segment_request : evidence.request).known(), Missing::request);
        add_if(!evidence.total.known(), Missing::total);
        add_if(!evidence.device_free.known(), Missing::device_free);
        const bool wide = evidence.allocator == FailedAllocator::pytorch_uncached && !verdict.primary() &&
                          !verdict.answered;
        add_if(!evidence.reserved.known() || wide, Missing::reserved);
        add_if(!evidence.allocated.known(), Missing::allocated);
        if (!verdict.numbers) return;
        const bool fragmented = verdict.of(fragmentation).status == Status::undecidable;
        add_if(!told && fragmented, Missing::active);
        add_if(verdict.qualifiers.has(Qualifier::cap_or_driver_refused), Missing::cap);
        add_if(verdict.of(external).qualifiers.has(Qualifier::holder_unknown), Missing::other_processes);
        add_if(verdict.of(retention).status == Status::undecidable, Missing::steps);
    }

    LogFindings& log_;
};

// Counted failures that the log does not print.
std::vector<LogMessage> unprinted(const LogFindings& log) {
    std::vector<LogMessage> messages;
    for (auto statistics = log.statistics.rbegin(); statistics != log.statistics.rend(); ++statistics) {
        if (statistics->failure_count.value_or(0) == 0) continue;
        const auto of_writer = [&](const LogMessage& message) {
            return message.place.label == statistics->place.label || message.place.label.none() ||
                   statistics->place.label.none();
        };
        if (std::ranges::any_of(log.messages, of_writer) || std::ranges::any_of(messages, of_writer))
            continue;
        LogMessage message;
        message.format = statistics->table ? TriageFormat::memory_summary : TriageFormat::memory_stats;
        message.backend = TriageBackend::cuda;
        message.place = statistics->place;
        message.device = statistics->device;
        message.allocated = statistics->allocated;
        message.reserved = statistics->reserved;
        message.seen_count = *statistics->failure_count;
        messages.push_back(std::move(message));
    }
    return messages;
}

bool one_process(const LogMessage& one, const LogMessage& other) {
    if (one.place.label != other.place.label) return false;
    return !one.place.label.none() || one.device == other.device;
}

// The groups, and whether a process allocated more at each of its failures.
void group(Triage& result) {
    for (size_t index = 0; index < result.incidents.size(); ++index) {
        TriagedIncident& one = result.incidents[index];
        one.order = index + 1;
        for (size_t before = index; before > 0 && one.process == 0; --before) {
            const TriagedIncident& other = result.incidents[before - 1];
            if (!one_process(one.message, other.message)) continue;
            one.process = other.process;
            const Measure& now = one.incident().evidence.allocated;
            const Measure& then = other.incident().evidence.allocated;
            one.grew = now.known() && then.known() && now.low > then.high;
        }
        if (one.process == 0) one.process = ++result.process_count;
    }
}

}  // namespace

#define MEMSNAP_CASE(word) \
    case Missing::word:    \
        return #word;
std::string_view name(Missing missing) {
    switch (missing) { MEMSNAP_TRIAGE_MISSING(MEMSNAP_CASE) }
    return "";
}
#undef MEMSNAP_CASE

Triage triage(LogFindings log) {
    Triage result;
    for (LogMessage& message : unprinted(log))
        log.messages.push_back(std::move(message));
    std::ranges::stable_sort(log.messages, {}, [](const LogMessage& one) { return one.place.offset_bytes; });
    Assessment assessment(log);
    for (LogMessage& message : log.messages)
        result.incidents.push_back(assessment.assess(std::move(message)));
    log.messages.clear();
    for (const LogRefusal& refusal : log.refusals) {
        if (!refusal.taken) result.refusals.push_back(refusal);
    }
    group(result);
    result.log = std::move(log);
    return result;
}

int Triage::exit_status() const {
    const auto settles = [](const TriagedIncident& one) {
        return one.incident().verdict.exit_status() == 10;
    };
    if (std::ranges::any_of(incidents, settles)) return 10;
    const bool nothing = incidents.empty() && log.unrecognised.empty() && log.recordings.empty();
    return nothing && log.omitted_count == 0 ? 0 : 11;
}

}  // namespace memsnap
