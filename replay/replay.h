// SPDX-License-Identifier: Apache-2.0
//
// One pass over a window: applies each event to a ledger, judges each broken rule, shows every state to a
// visitor, and checks the end against the live table. The rule: an impossible sight in the caching
// allocator's layer is corruption unless the writer declared a loss before it; it is then counted.
#pragma once

#include <array>
#include <cstdint>

#include "capture.h"
#include "ledger.h"
#include "result.h"
#include "rules.h"

namespace memsnap {

struct ReplayOutcome {
    uint64_t event_count = 0;
    std::array<uint64_t, kBlindCount> blind = {};  // records by Blind
    std::array<uint64_t, kRuleCount> tolerated =
        {};  // broken rules explained by a declared loss, or of the driver layer

    uint64_t tolerated_count(Rule rule) const { return tolerated[static_cast<size_t>(rule)]; }
};

// The Error for a rule broken at a ticket (kNoTicket: at no single record).
Error corruption(const Capture& capture, Rule rule, uint64_t ticket);

// Whether a rule broken at `ticket` is explained by what the window declares.
bool tolerated(const WindowFacts& facts, Rule rule, uint64_t ticket);

// visit(const Event&, const Ledger&, const Change&), after the event was applied. `ledger` starts as
// Ledger(window).
template <class Visitor>
Result<ReplayOutcome> replay(const Capture& capture, const Window& window, Ledger& ledger, Visitor&& visit) {
    ReplayOutcome outcome;
    std::optional<Error> error;
    const auto judge = [&](Rule rule, uint64_t ticket) {
        if (tolerated(window.facts, rule, ticket)) {
            ++outcome.tolerated[static_cast<size_t>(rule)];
        } else if (!error) {
            error = corruption(capture, rule, ticket);
        }
    };
    if (const auto broken = ledger.check_begin()) judge(*broken, window.events.begin_ticket());
    window.events.for_each([&](const Event& event) {
        if (error) return false;
        ++outcome.event_count;
        if (event.kind == Kind::blind && event.code < kBlindCount) ++outcome.blind[event.code];
        Change change;
        if (const auto broken = ledger.apply(event, change)) judge(*broken, event.ticket);
        if (error) return false;
        visit(event, static_cast<const Ledger&>(ledger), static_cast<const Change&>(change));
        return true;
    });
    if (!error) {
        if (const auto broken = ledger.check_end(window)) judge(*broken, kNoTicket);
    }
    if (error) return failure(std::move(*error));
    return outcome;
}

}  // namespace memsnap
