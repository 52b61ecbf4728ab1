// SPDX-License-Identifier: Apache-2.0
//
// Lives: who was where from which ticket to which (VERDICT.md §2). Rule: the state at any instant is a
// question to this list; nobody keeps a running state beside it.
#pragma once

#include <string_view>

#include "ranges.h"

namespace oracle {

enum class Category : u8 {
    kUnknown,
    kParameter,
    kGradient,
    kOptimizerState,
    kBuffer,
    kInput,
    kActivation
};
inline constexpr std::size_t kCategories = 7;

struct Life {
    struct Told {
        u64 ticket;
        Category category;
    };
    Class object = kNoClass;
    u64 address = 0;
    u64 size = 0;
    u64 from = 0;           ///< first ticket it is there; 0 for what was live at B
    u64 birth = kNoTicket;  ///< its birth ticket; earlier than `from` when a refused free gave it back
    u64 death = kNoTicket;
    u64 own_free = kNoTicket;  ///< ticket of its free
    bool freed = false;        ///< its death is a free; false where a later block shows that it has ended
    u64 site = 0;
    std::optional<u64> step;  ///< steps ended before the birth
    u16 phase = 0;
    u16 library = 0;
    int device = -1;
    u8 call = 0;
    u8 flags = 0;
    u64 handle = kNoTicket;  ///< of a mapping, where it is known
    bool in_window = false;  ///< an event of the window bore it
    u64 offset = 0;
    std::vector<Told> told;  ///< of a block: its categories, by ticket

    bool alive_at(u64 ticket) const { return from <= ticket && ticket < death; }
    u64 end() const { return size > kNoTicket - address ? kNoTicket : address + size; }
};

/// By birth ticket, and by address where a damaged table says one ticket twice.
inline bool born_before(const Life& a, const Life& b) {
    return std::pair(a.birth, a.address) < std::pair(b.birth, b.address);
}

/// A rule of §12 that something breaks.
struct Issue {
    std::string_view rule;
    u64 ticket = 0;
    u64 offset = 0;
};

struct Lives {
    std::vector<Life> all;
    std::vector<Issue> issues;
};

Lives build_lives(const Recording& recording, const std::vector<Range>& ranges);
/// The blocks of a device that are live after the event of the ticket, by address.
std::vector<const Life*> blocks_at(const std::vector<Life>& lives, int device, u64 ticket);
Class birth_class(const Event& event);
bool is_death(const Event& event);
/// Fills in `step` and `phase` of the lives born in the window.
void note_steps_and_phases(const Recording& recording, const std::vector<Range>& ranges,
                           std::vector<Life>& lives);
/// Steps that had ended before `ticket`.
u64 steps_ended(const Recording& recording, const std::vector<Life>& lives, u64 ticket);

}  // namespace oracle
