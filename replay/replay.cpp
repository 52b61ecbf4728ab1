// SPDX-License-Identifier: Apache-2.0
//
// When is an impossible sight corruption, and how is it told.
#include "replay.h"

#include <fmt/format.h>

namespace memsnap {

bool tolerated(const WindowFacts& facts, Rule rule, uint64_t ticket) {
    const uint64_t until = facts.certain_until_ticket;
    return layer(rule) == RuleLayer::driver || (until != kNoTicket && ticket >= until);
}

Error corruption(const Capture& capture, Rule rule, uint64_t ticket) {
    Error error;
    error.code = ErrorCode::corrupt;
    error.file = capture.path;
    if (ticket != kNoTicket) {
        error.ticket = ticket;
        error.offset_bytes = capture.record_offset_bytes(ticket);
    }
    error.rule = name(rule);
    error.detail = sentence(rule);
    error.way_out = "no loss was declared that explains it, so the file is damaged: use another copy of it";
    return error;
}

}  // namespace memsnap
