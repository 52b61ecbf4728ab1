// SPDX-License-Identifier: Apache-2.0
//
// Every threshold of the verdict, once. Each is a rule of the published decision table: changing one changes
// verdicts, so it needs a reason from evidence and new fixtures on both sides of it.
#pragma once

#include <cstdint>

namespace memsnap::policy {

// "Room" below this share of the card is not room: contexts, skew and rounding live there.
inline constexpr uint64_t kThreshold_permille = 15;

// No real request reaches an exbibyte; PyTorch itself refuses there.
inline constexpr uint64_t kCorruptRequest_bytes = uint64_t{1} << 60;

// A context, its modules and library workspaces: public live-set cases have at most 1.3 GiB of unnamed
// outside bytes, external ones at least 5.1 GiB.
inline constexpr uint64_t kUnnamedOutsideAllowance_bytes = 1536ULL << 20;

// A relief below a quarter of the threshold does not contribute to anything.
inline constexpr uint64_t kContributionDivisor = 4;

// Matched boundaries: steps 1 and 2 warm up, the last cannot be judged, five pairs must mostly grow.
inline constexpr uint64_t kBoundariesNeeded_count = 6;
inline constexpr uint64_t kComparedPairs_count = 5;
inline constexpr uint64_t kGrowingPairsNeeded_count = 4;
inline constexpr uint64_t kSurvivorStepsNeeded_count = 3;

// What leaks in some steps only does not show in consecutive pairs: with this many boundaries, pairs an
// eighth of the way apart are compared too.
inline constexpr uint64_t kSpacedPairsBoundaries_count = 21;
inline constexpr uint64_t kPairSpacingDivisor = 8;

// A fix of retention may leave crumbs: the scalars that are still wanted.
inline constexpr uint64_t kRiseLeftDivisor = 100;

// Inferred boundaries: the events since the heartbeat's first allocation in equal runs.
inline constexpr uint64_t kInferredRuns_count = 16;
inline constexpr uint64_t kInferredRunsNeeded_count = 15;
inline constexpr uint64_t kInferredEventsNeeded_count = 32;

// An outside holder that was not there this long before the failure came and may go.
inline constexpr uint64_t kTransientAge_ns = 1'000'000'000;

// How far from a failure, in tickets, its operation's record and the torch tap's word about it are looked
// for.
inline constexpr uint64_t kOperationReach_count = 4096;
inline constexpr uint64_t kTapReach_count = 64;

// No card has more: bounds a total that nobody told.
inline constexpr uint64_t kLargestCard_bytes = uint64_t{1} << 40;

// A rise of the outside lane counts over this many observations in a row.
inline constexpr uint64_t kDeviceRiseObservations_count = 3;

}  // namespace memsnap::policy
