// SPDX-License-Identifier: Apache-2.0
//
// What many stays come to at an instant. Rule: a sum over sorted changes, those of one ticket together; what
// was there before B is the state at B.
#pragma once

#include <algorithm>
#include <vector>

#include "numbers.h"

namespace oracle {

/// Bytes that are there from one ticket to another.
struct Stay {
    u64 from;
    u64 to;
    Int bytes;
};

class Sums {
  public:
    struct Peak {
        Int bytes;
        u64 ticket;
        bool at_begin;  ///< the state at B, which no event surpassed
    };

    Sums(u64 begin, const std::vector<Stay>& stays) : begin_(begin) {
        struct Change {
            u64 ticket;
            Int bytes;
        };
        std::vector<Change> changes;
        for (const auto& stay : stays) {
            if (stay.from < begin) {
                at_begin_ += stay.bytes;
            } else {
                changes.push_back({stay.from, stay.bytes});
            }
            if (stay.to != kNoTicket) changes.push_back({stay.to, -stay.bytes});
        }
        std::stable_sort(changes.begin(), changes.end(),
                         [](const Change& a, const Change& b) { return a.ticket < b.ticket; });
        Int sum = at_begin_;
        Peak peak{sum, begin, true};
        for (std::size_t i = 0; i < changes.size(); ++i) {
            sum += changes[i].bytes;
            if (i + 1 < changes.size() && changes[i + 1].ticket == changes[i].ticket) continue;
            if (sum > peak.bytes) peak = {sum, changes[i].ticket, false};
            instants_.push_back({changes[i].ticket, sum, peak});
        }
    }

    Int at(u64 ticket) const {
        const auto* instant = last_by(ticket);
        return instant != nullptr ? instant->sum : at_begin_;
    }
    /// The greatest sum by the ticket, that at B included, and the first ticket that reached it.
    Peak peak_by(u64 ticket) const {
        const auto* instant = last_by(ticket);
        return instant != nullptr ? instant->peak : Peak{at_begin_, begin_, true};
    }

  private:
    struct Instant {
        u64 ticket;
        Int sum;
        Peak peak;
    };
    const Instant* last_by(u64 ticket) const {
        auto after =
            std::upper_bound(instants_.begin(), instants_.end(), ticket,
                             [](u64 wanted, const Instant& instant) { return wanted < instant.ticket; });
        return after == instants_.begin() ? nullptr : &*std::prev(after);
    }

    u64 begin_;
    Int at_begin_ = 0;
    std::vector<Instant> instants_;
};

}  // namespace oracle
