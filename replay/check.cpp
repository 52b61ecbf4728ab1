// SPDX-License-Identifier: Apache-2.0
//
// `memsnap-replay check`. The rule: what is not certain is said, with the reason the writer declared.
#include "check.h"

#include <fmt/format.h>

#include <iterator>

#include "check_cupti.h"
#include "replay.h"

namespace memsnap {

Result<std::string> check(const Capture& capture) {
    std::string text;
    const auto say = std::back_inserter(text);
    Ledger ledger(capture.window);
    CuptiComparison cupti;
    const auto outcome = replay(capture, capture.window, ledger, cupti);
    if (!outcome) return failure(outcome.error());
    for (const KeyframeFacts& facts : capture.keyframes) {
        const auto keyframe = capture.read_keyframe(facts.slot);
        if (!keyframe) return failure(keyframe.error());
        Ledger at_failure((*keyframe)->window);
        const auto replayed = replay(capture, (*keyframe)->window, at_failure,
                                     [](const Event&, const Ledger&, const Change&) {});
        if (!replayed) return failure(replayed.error());
    }
    const WindowFacts& facts = capture.window.facts;
    fmt::format_to(say, "OK  {} events of {} replayed, {} missing, {} torn, {} of unknown kind, {} redone\n",
                   outcome->event_count, capture.header.head_ticket, facts.missing_count, facts.torn_count,
                   facts.unknown_kind_count, facts.redone_count);
    fmt::format_to(say, "    {} blocks and {} other objects live at the end, {} boundaries, {} keyframes\n",
                   ledger.block_count(), ledger.object_count(), capture.boundaries.size(),
                   capture.keyframes.size());
    for (size_t i = 0; i < kUncertaintyCount; ++i) {
        if (facts.uncertain[i]) fmt::format_to(say, "    uncertain: {}\n", name(static_cast<Uncertainty>(i)));
    }
    for (size_t i = 0; i < kRuleCount; ++i) {
        const Rule rule = static_cast<Rule>(i);
        if (outcome->tolerated[i] == 0) continue;
        fmt::format_to(say, "    tolerated {} times: {} ({})\n", outcome->tolerated[i], name(rule),
                       sentence(rule));
    }
    const auto compared = cupti.result(capture);
    if (!compared) return failure(compared.error());
    return text + *compared;
}

}  // namespace memsnap
