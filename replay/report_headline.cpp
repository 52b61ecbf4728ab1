// SPDX-License-Identifier: Apache-2.0
//
// An incident's event and cause, or why there is none.
#include "report_headline.h"

#include <fmt/format.h>

#include "report_card.h"
#include "report_sentence.h"

namespace memsnap {
namespace {

std::string failure_sentence(const Capture& capture, const Incident& incident, const Names& names,
                             const ReportSymbols& symbols) {
    std::string who = "PyTorch";
    if (incident.evidence.allocator == FailedAllocator::foreign)
        who = library_label(capture, names, incident.failure.event.library, letters(symbols.utf8));
    std::string text = who + ' ' + asked_sentence(incident);
    if (incident.scene.step_count != 0)
        text = fmt::format("in step {}: ", incident.scene.step_count + 1) + text;
    return text;
}

std::string beside_failure(const Analysis& analysis) {
    const size_t count = analysis.failures.listed.size();
    std::string text;
    if (count > 1) text = fmt::format(" (one of {} failures)", count);
    if (analysis.incident->failure.followed) text += "; the job went on";
    return text;
}

Headline without_incident(const Analysis& analysis) {
    Headline told;
    if (analysis.lost_failure_count != 0) {
        told.title = "FAILURE LOST";
        told.event = fmt::format("the recorder counted {}, but none can be read any more",
                                 counted(analysis.lost_failure_count, "failure"));
    } else if (analysis.failures.only_unplaced()) {
        told.title = "FAILURE NOT PLACED";
        told.event = "something ran out of memory, and no record tells on which device";
    } else if (const Failure* const elsewhere = analysis.failures.first_placed()) {
        const int device = elsewhere->event.device;
        told.title = "NO FAILURE";
        told.event = fmt::format("on this device; cuda:{} ran out of memory (--device {})", device, device);
    } else {
        told.title = "NO FAILURE";
        told.event = "nothing ran out of memory in this recording";
    }
    return told;
}

}  // namespace

Headline headline(const Capture& capture, const Analysis& analysis, const Names& names,
                  const ReportSymbols& symbols) {
    if (!analysis.incident) return without_incident(analysis);
    const Incident& incident = *analysis.incident;
    return {.title = "OUT OF MEMORY",
            .event = failure_sentence(capture, incident, names, symbols),
            .beside = beside_failure(analysis),
            .cause = cause_sentence(incident, symbols),
            .unexcluded = unexcluded_sentence(incident, symbols)};
}

}  // namespace memsnap
