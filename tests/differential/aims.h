// SPDX-License-Identifier: Apache-2.0
//
// What a trace is made for: each aim is a class, a status, a qualifier or an inequality of the rules. The
// rule: an aim prepares a plan, looks at the numbers that the plan leads to, and moves one of them to where
// its inequality turns over; random traces alone would hardly ever come near.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evidence.h"
#include "random.h"
#include "scenario.h"
#include "verdict.h"

namespace memsnap::differential {

// What a plan leads to.
struct Seen {
    Evidence evidence;
    Numbers numbers;
};

struct Aim {
    std::string_view name;
    // `side` is -1, 0 or 1: below the bound, at it, above it.
    void (*prepare)(Plan&, Random&, int side);
    // Moves a number until the left side less the right side is `distance`. Null: there is nothing to move.
    void (*settle)(Plan&, const Seen&, int64_t distance) = nullptr;
    int64_t unit_bytes = 1;  // the least distance that can be told
};

std::span<const Aim> margin_aims();
std::span<const Aim> relief_aims();
std::span<const Aim> history_aims();
std::span<const Aim> circumstance_aims();
std::span<const Aim> tool_aims();

// The plan of a seed with its numbers where the aim wants them. `look` tells what lines lead to.
struct Aimed {
    const Aim* aim = nullptr;
    int side = 0;
    std::vector<std::string> lines;
};
using Look = std::function<std::optional<Seen>(const std::vector<std::string>&)>;
Aimed make_trace(uint64_t seed, std::string_view only_aim, const Look& look);

// ---- what several aims do

// Free bytes of the card; what is kept on it makes room.
void set_free(Plan& plan, Wide free_bytes);
// Free bytes of the card, or where there are none the request, until the margin is this.
void set_margin(Plan& plan, const Seen& seen, Wide margin_bytes);
// The card's size, until the threshold is this.
void set_threshold(Plan& plan, Wide threshold_bytes);
void move(uint64_t& bytes, Wide by);

// A plan in which every number is known: `varied` draws what does not matter.
void varied(Plan& plan, Random& random);
void others_known(Plan& plan, Random& random);
void leaking_steps(Plan& plan, Random& random, unsigned count, uint64_t leak_bytes);

}  // namespace memsnap::differential
