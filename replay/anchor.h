// SPDX-License-Identifier: Apache-2.0
//
// What the device and its processes said, and which of it counts at another instant. The rule (VERDICT.md,
// "Balance"): the last answer before the instant, else the first after it; nothing behind the limit, which is
// where the log ends.
#pragma once

#include <cstdint>
#include <optional>

#include "event.h"
#include "ledger.h"
#include "measure.h"

namespace memsnap {

enum class BalanceSource : uint8_t {
    observed,      // the device was asked at the instant
    carried,       // before it
    carried_back,  // only after it
    unknown        // never
};

// An answer of the device.
struct BalanceAnchor {
    uint64_t ticket = 0;
    uint64_t total_bytes = 0;
    Wide residual_bytes = 0;
    std::optional<uint64_t> others_bytes;  // as last sampled before it
};

// What is known of an instant from elsewhere.
struct Anchored {
    BalanceSource source = BalanceSource::unknown;
    std::optional<uint64_t> total_bytes;
    std::optional<uint64_t> others_bytes;
    std::optional<Wide> unattributed_bytes;
};

// Of one device: fed with its events in ticket order, and the state after each.
class AnchorLog {
  public:
    void take(const Event& event, const Ledger& ledger);

    // The instant that marked() is about.
    void mark(uint64_t ticket);
    Anchored marked() const { return anchored(marked_); }
    Anchored latest(uint64_t ticket) const { return anchored({ticket, last_, others_bytes_}); }

    const std::optional<BalanceAnchor>& last() const { return last_; }
    std::optional<uint64_t> others_bytes() const { return others_bytes_; }

  private:
    struct Instant {
        uint64_t ticket = 0;
        std::optional<BalanceAnchor> anchor;
        std::optional<uint64_t> others_bytes;
    };
    Anchored anchored(const Instant& instant) const;

    std::optional<BalanceAnchor> last_;
    std::optional<uint64_t> others_bytes_;
    std::optional<uint64_t> first_others_bytes_;
    Instant marked_;
};

}  // namespace memsnap
