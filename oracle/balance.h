// SPDX-License-Identifier: Apache-2.0
//
// How the card is split at an instant (VERDICT.md §3). Rule: the parts are signed and add up to the total; a
// part that is not known is left out on both sides.
#pragma once

#include <map>

#include "inputs.h"
#include "residual.h"

namespace oracle {

enum class Source : u8 {
    kUnknown,
    kObserved,
    kCarried,
    kCarriedBack
};

/// Which state is looked at: after the event of the ticket, or before it (the state at B).
struct Instant {
    u64 ticket = 0;
    bool before_event = false;

    /// The ticket whose event is the last one applied; nothing is there before any.
    std::optional<u64> applied() const {
        if (!before_event) return ticket;
        return ticket != 0 ? std::optional(ticket - 1) : std::nullopt;
    }
};

struct Balance {
    int device = -1;
    Instant instant;
    Source source = Source::kUnknown;
    Int active_bytes = 0, reusable_bytes = 0, fragmented_bytes = 0, incompatible_bytes = 0;
    std::map<u16, Int> libraries;  ///< own outside bytes
    std::optional<Int> total_bytes, others_bytes, unattributed_bytes, free_bytes;

    Int held_bytes() const { return active_bytes + reusable_bytes + fragmented_bytes + incompatible_bytes; }
    Int own_bytes() const;
};

/// What the balances of one device are made from.
struct Weighing {
    const Scene* scene;
    int device;
    u64 limit;                         ///< later records tell nothing
    std::optional<Int> request_bytes;  ///< R*
    std::vector<Residual> residuals;
    const Inputs* failing = nullptr;

    /// Of the incident's device, up to the failing instant.
    Weighing(const Scene& incident, const Inputs& inputs);
    /// Without an incident, up to the window's end.
    Weighing(const Scene& ring, int device);

    bool fails_at(u64 ticket) const { return failing != nullptr && failing->ticket == ticket; }
    Balance at(const Instant& instant) const;
};

}  // namespace oracle
