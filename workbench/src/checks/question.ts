// SPDX-License-Identifier: Apache-2.0
//
// What the decision looks at (VERDICT.md §5, §7), as the evidence of a receipt states it. The rule: integers of any size; null is not known.
import type { Count, Receipt } from "../data/receipt";

export type HoleRelease = "overlaps" | "separate" | "unknown";

export interface Question {
  victim: "pytorch" | "pytorch_uncached" | "foreign";
  request: bigint | null; // of a foreign victim: the failed call's size
  segmentRequest: bigint;
  deviceCall: "failed" | "none_made" | "unknown";
  total: bigint | null;
  free: bigint | null;
  freeObserved: boolean;
  reserved: bigint;
  allocated: bigint;
  deferred: bigint | null;
  releasable: bigint;
  uncertainty: bigint;
  largest: bigint;
  largestCompatible: bigint;
  fragmented: bigint;
  incompatible: bigint;
  remappable: bigint;
  holeRelease: HoleRelease;
  cap: bigint | null;
  others: bigint | null;
  named: bigint;
  namedGrowth: bigint;
  baselineOutside: bigint;
  baselineUnattributed: bigint;
  earlierOutside: bigint | null;
  sharesJob: boolean;
  basis: "marked" | "certified" | "uncertified" | "too_few" | "lapped";
  moduleCalls: boolean; // points are calls of modules
  retained: bigint;
  unknownBirths: bigint;
  requestRepeated: boolean;
  expandableSegments: boolean; // in use already
  fromRecorder: boolean;
  fromSnapshot: boolean;
  totalStated: boolean; // by a person
}

const known = (value: unknown) => (value === null || value === undefined ? null : BigInt(value as Count));
const orZero = (value: unknown) => known(value) ?? 0n;

// Null without an incident in evidence. How a hole was released is not in the evidence: the caller says.
export function questionOf(receipt: Receipt, holeRelease: HoleRelease): Question | null {
  const { failure, ledgers, growth } = receipt.evidence;
  const outside = receipt.evidence.outside as Record<string, unknown> | null;
  if (failure === null || ledgers === null || growth === null || outside === null) return null;
  const foreign = failure.allocator === "foreign";
  return {
    victim: failure.allocator as Question["victim"],
    request: known(foreign ? failure.segment_request_bytes : failure.request_bytes),
    segmentRequest: BigInt(failure.segment_request_bytes),
    deviceCall: failure.device_call as Question["deviceCall"],
    total: known(ledgers.total_bytes),
    free: known(ledgers.device_free_bytes),
    freeObserved: failure.free_observed_at_failure,
    reserved: orZero(ledgers.reserved_bytes),
    allocated: orZero(ledgers.allocated_bytes),
    deferred: known(ledgers.deferred_bytes),
    releasable: orZero(ledgers.releasable_bytes),
    uncertainty: orZero(ledgers.uncertainty_bytes),
    largest: orZero(ledgers.largest_free_extent_bytes),
    largestCompatible: orZero(ledgers.largest_compatible_extent_bytes),
    fragmented: orZero(ledgers.fragmented_free_bytes),
    incompatible: orZero(ledgers.incompatible_free_bytes),
    remappable: orZero(ledgers.remappable_bytes),
    holeRelease,
    cap: known(ledgers.cap_bytes),
    others: known(outside.others_bytes),
    named: orZero(outside.named_bytes),
    namedGrowth: orZero(outside.named_growth_bytes),
    baselineOutside: orZero(outside.baseline_outside_bytes),
    baselineUnattributed: orZero(outside.baseline_unattributed_bytes),
    earlierOutside: known(outside.earlier_outside_bytes),
    sharesJob: outside.holder_shares_job === true,
    basis: growth.basis as Question["basis"],
    moduleCalls: growth.family === "module",
    retained: BigInt(growth.retained_bytes),
    unknownBirths: orZero(growth.unknown_birth_bytes),
    requestRepeated: growth.request_repeated,
    expandableSegments: (receipt.environment.allocator as Record<string, unknown> | undefined)?.expandable_segments === true,
    fromRecorder: receipt.capture.origin === "recorder",
    fromSnapshot: receipt.capture.origin === "torch_snapshot",
    totalStated: receipt.capture.total_stated === true,
  };
}
