// SPDX-License-Identifier: Apache-2.0
//
// Failures, near misses, chains and the incident (VERDICT.md §4). Rule: a failure's standing follows from
// what comes after it; nothing is decided while reading forward.
#pragma once

#include "recording.h"

namespace oracle {

enum class Victim : u8 {
    kPytorch,
    kUncached,
    kForeign
};

struct Failed {
    Event event;
    Victim victim = Victim::kPytorch;
    bool only_in_keyframe = false;
    bool followed = false;
    u64 scope_end = kNoTicket;
    std::size_t chain = 0;
};

struct NearMiss {
    bool probe = false;
    Event first;
    u64 calls = 1;
};

struct Failures {
    std::vector<Failed> all;  ///< by ticket
    std::vector<NearMiss> near_misses;
    u64 lost_count = 0;

    bool chain_is_followed(std::size_t first) const;
    /// There are failures, and none of them has a device.
    bool only_without_device() const;
};

struct Choice {
    std::optional<int> device;
    std::optional<u64> ticket;
};

Failures find_failures(const File& file, const Recording& ring);
/// Index of the incident.
std::optional<std::size_t> choose_incident(const Failures& failures, const Choice& choice);

}  // namespace oracle
