// SPDX-License-Identifier: Apache-2.0
//
// The thresholds of VERDICT.md §1. The rule: each integer stands here once.
const MiB = 1n << 20n;

export const kThreshold_permille = 15n;
export const kCorruptRequest_bytes = 1n << 60n;
export const kUnnamedAllowance_bytes = 1536n * MiB;
export const kContributionDivisor = 4n;
export const kLargestCard_bytes = 1n << 40n;
export const kSmallRequest_bytes = MiB;
export const kLargeRequest_bytes = 10n * MiB;
export const kSmallSegment_bytes = 2n * MiB;
export const kLargeSegment_bytes = 20n * MiB;
export const kDriverPage_bytes = 2n * MiB;
export const kGranule_bytes = 512;
export const kBoundariesNeeded = 6;
export const kComparedPairs = 5;
export const kGrowingPairsNeeded = 4;
export const kSpacedPairsPoints = 21;
export const kSpacingDivisor = 8;
export const kSurvivorStepsNeeded = 3;
export const kInferredRuns = 16;
export const kInferredRunsNeeded = 15;
export const kInferredEventsNeeded = 32;
export const kTransientAge_ns = 1_000_000_000;
export const kListedSites = 64;
export const kRecentAllocations = 16;
export const kKeyframeReach_tickets = 4096;
export const kTapReach_tickets = 64;
