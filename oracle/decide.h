// SPDX-License-Identifier: Apache-2.0
//
// The decision (VERDICT.md §8, §9). Rule: `decide_point` settles one combination of interval ends; `decide`
// asks all of them and keeps what they share.
#pragma once

#include <array>
#include <set>

#include "inputs.h"

namespace oracle {

enum class Standing : u8 {
    kRejected,
    kContributing,
    kPrimary,
    kUndecidable
};
enum Hypothesis : std::size_t {
    kLiveSet,
    kRetention,
    kFragmentation,
    kExternal,
    kHypotheses
};
inline constexpr std::array<std::string_view, kHypotheses> kHypothesisNames{"live_set", "retention",
                                                                            "fragmentation", "external"};

using Words = std::set<std::string, std::less<>>;

/// What the decision looks at.
struct Question {
    Victim victim = Victim::kPytorch;
    std::optional<Int> request_bytes;
    Int segment_request_bytes = 0;
    DeviceCall device_call = DeviceCall::kUnknown;
    std::optional<Int> total_bytes, device_free_bytes;
    bool free_observed_at_failure = false;
    Int reserved_bytes = 0, active_bytes = 0, releasable_bytes = 0, uncertainty_bytes = 0;
    bool deferred_known = false;
    Int largest_compatible_bytes = 0, largest_bytes = 0, fragmented_bytes = 0, incompatible_bytes = 0;
    Int remappable_bytes = 0;
    bool expandable_segments = false;  ///< in use already
    HoleRelease hole_release = HoleRelease::kUnknown;
    bool from_recorder = true;   ///< not imported
    bool from_snapshot = false;  ///< a memory snapshot told the events
    bool total_stated = false;   ///< by a person
    std::optional<Int> cap_bytes, others_bytes;
    Int named_bytes = 0, named_growth_bytes = 0, baseline_outside_bytes = 0, baseline_unattributed_bytes = 0;
    std::optional<Int> earlier_outside_bytes;
    bool holder_shares_job = false;
    Basis basis = Basis::kTooFew;
    bool points_are_module_calls = false;
    Int retained_bytes = 0;       ///< Q, or its upper bound
    Int unknown_birth_bytes = 0;  ///< U
    bool request_repeated = false;

    bool judges_growth() const { return basis == Basis::kMarked || basis == Basis::kCertified; }
    Int retained_low() const { return judges_growth() ? retained_bytes : 0; }
    Int retained_high() const {
        bool bound_has_all = basis == Basis::kTooFew || basis == Basis::kLapped;
        return retained_bytes + (bound_has_all ? 0 : unknown_birth_bytes);
    }
    bool foreign() const { return victim == Victim::kForeign; }
    Int slack_bytes() const { return reserved_bytes - active_bytes; }
};

/// One combination of interval ends.
struct Ends {
    Int total_bytes = 0;
    Int device_free_bytes = 0;
    std::optional<Int> cap_bytes;
    bool cap_implied = false;
    Int retained = 0;
};

struct Numbers {
    Int available = 0, need = 0, margin = 0, threshold = 0, deficit = 0, floor = 0;
    Int retained = 0, retained_upper = 0, removable = 0, removable_upper = 0;
    Int outside = 0;
};

struct Opinion {
    Standing standing = Standing::kUndecidable;
    Words qualifiers;
};

struct PointDecision {
    std::string contradiction;  ///< the qualifier, when the combination contradicts itself
    std::string answer;
    Words qualifiers;
    std::array<Opinion, kHypotheses> opinions;
    Numbers numbers;
};

PointDecision decide_point(const Question& question, const Ends& ends);

struct Margin {
    Int low = 0, high = 0;
};

struct Decision {
    std::optional<Numbers> numbers;  ///< of the combination with every low end
    std::array<Opinion, kHypotheses> opinions;
    std::array<std::optional<Margin>, kHypotheses> margins;
    Words qualifiers;
    Words answers;  ///< the qualifiers that answer the question, when every combination is answered

    std::optional<Hypothesis> primary() const;
};

Decision decide(const Question& question);
Numbers numbers_of(const Question& question, const Ends& ends);

}  // namespace oracle
