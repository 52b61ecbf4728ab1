// SPDX-License-Identifier: Apache-2.0
//
// Who failed first, and what became of the others (VERDICT.md §17). Rule: what the clocks cannot tell is
// untold.
#pragma once

#include "job_account.h"

namespace oracle {

/// Whether a process without an exit was there, when and where somebody looked.
enum class Sight : u8 {
    kOutOfSight,
    kRuns,
    kGone
};

enum class Order : u8 {
    kNone,
    kBefore,
    kAfter,
    kNotTold
};
std::string_view order_name(Order order);

struct HeldBy {
    std::size_t process = 0;
    u64 bytes = 0;
};

struct Part {
    std::string_view role;
    Order order = Order::kNone;
    std::vector<HeldBy> held_by;
};

struct First {
    std::size_t process = 0;
    std::vector<std::size_t> rivals;
    bool clocks_compared = false;

    bool is_told() const { return rivals.empty(); }
};

struct Parts {
    std::optional<First> first;
    std::vector<Part> all;  ///< by process
};

/// How long after its last sign of life a process may still be there.
inline constexpr Int kSignOfLifeNs = 2'000'000'000;

/// `sights`: by process; of those behind its end nothing is known.
Parts parts_of(const std::vector<Account>& members, Int clocks_within_ns, const std::vector<Sight>& sights);

}  // namespace oracle
