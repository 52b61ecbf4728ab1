// SPDX-License-Identifier: Apache-2.0
//
// Every number of the rules that somebody chose (VERDICT.md §1). Rule: a threshold stands here and nowhere
// else, and no other file of the oracle repeats one.
#pragma once

#include "numbers.h"

namespace oracle::thresholds {

inline constexpr Int kThresholdPerMille = 15;
inline constexpr Int kPerMille = 1000;
inline constexpr Int kCorruptRequestBytes = Int{1} << 60;
inline constexpr Int kLargestCardBytes = Int{1} << 40;
inline constexpr Int kMiB = Int{1} << 20;
inline constexpr Int kOutsideAllowanceBytes = 1536 * kMiB;
inline constexpr Int kContributionDivisor = 4;
inline constexpr std::size_t kBoundariesNeeded = 6;
inline constexpr std::size_t kComparedPairs = 5;
inline constexpr std::size_t kGrowingPairsNeeded = 4;
inline constexpr std::size_t kSpacedPairsNeed = 21;  // points, for pairs that are not consecutive
inline constexpr std::size_t kSpacingDivisor = 8;
inline constexpr std::size_t kSurvivorStepsNeeded = 3;
inline constexpr std::size_t kUnjudgedSteps = 3;  // the first one warms up, the last two may still end
inline constexpr std::size_t kListedSites = 64;
inline constexpr std::size_t kRecentAllocations = 16;
inline constexpr std::size_t kInferredRuns = 16;
inline constexpr std::size_t kInferredRunsNeeded = 15;
inline constexpr std::size_t kInferredEventsNeeded = 32;
inline constexpr Int kTransientAgeNs = 1'000'000'000;
inline constexpr std::size_t kRiseObservations = 3;
inline constexpr Int kSmallRequestBytes = kMiB;
inline constexpr Int kSmallSegmentBytes = 2 * kMiB;
inline constexpr Int kLargeSegmentBytes = 20 * kMiB;
inline constexpr Int kDriverPageBytes = 2 * kMiB;
inline constexpr Int kLargeRequestBytes = 10 * kMiB;
inline constexpr u64 kGranuleBytes = 512;
inline constexpr u64 kWindowDivisor = 16;
inline constexpr u64 kKeyframeReachTickets = 4096;
inline constexpr u64 kTapReachTickets = 64;

}  // namespace oracle::thresholds
