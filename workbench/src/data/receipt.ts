// SPDX-License-Identifier: Apache-2.0
//
// The members of a receipt that the page reads (docs/receipt.md). The rule: a number beyond 2^53 is a string of digits; null is "not known".

export type Count = number | string; // integers; beyond 2^53 as digits
export type Status = "primary" | "contributing" | "rejected" | "undecidable";
export type HypothesisName = "live_set" | "retention" | "fragmentation" | "external";

export interface Input {
  value: Count | null;
  provenance: "observed" | "derived" | "unknown";
  low?: Count;
  high?: Count;
}

export interface HypothesisVerdict {
  status: Status;
  margin_bytes: Count | null;
  margin_high_bytes?: Count;
  qualifiers: string[];
  inequality: string;
  inputs: Record<string, Input>;
  fix: string | null;
  proof: string | null;
  probe: string | null;
}

export interface Rows {
  columns: string[];
  rows: (Count | string | null)[][];
}

export interface Verdict {
  primary: HypothesisName | null;
  contributing: HypothesisName[];
  rejected: HypothesisName[];
  undecidable: HypothesisName[];
  qualifiers: string[];
  exit_status: number;
  fix: string | null;
  proof: string | null;
  numbers: Record<string, Count> | null;
  hypotheses: Record<HypothesisName, HypothesisVerdict> | null;
}

export interface Balance {
  device: number;
  instant: "peak" | "failure" | "end";
  ticket: Count;
  source: "observed" | "carried" | "carried_back" | "unknown";
  total_bytes: Count | null;
  active_bytes: Count;
  reusable_free_bytes: Count;
  fragmented_free_bytes: Count;
  incompatible_free_bytes: Count;
  libraries: { library: number; bytes: Count }[];
  others_bytes: Count | null;
  unattributed_bytes: Count | null;
  free_bytes: Count | null;
}

export interface Failure {
  device: number;
  allocator: string;
  request_bytes: Count | null;
  segment_request_bytes: Count;
  device_call: string;
  operation: string;
  ticket: Count;
  steps_ended_count: Count;
  free_observed_at_failure: boolean;
}

export interface Growth {
  basis: string;
  family: string;
  boundary_count: number;
  growing_pairs_count: number;
  retained_bytes: Count;
  retained_is_bound: boolean;
  unknown_birth_bytes: Count;
  births_known_from_ticket: Count;
  kept_since_failure_bytes: Count;
  request_repeated: boolean;
  survivors: Record<string, Count>[];
  points: Rows;
}

// Members that one view alone reads are typed where they are shown.
export interface Evidence {
  failure: Failure | null;
  ledgers: Record<string, Count | null> | null;
  growth: Growth | null;
  extents: Rows | null;
  sites: Record<string, Count | boolean | string>[] | null;
  holders: Balance[];
  shapes: Record<string, unknown>[] | null;
  provenance: Record<string, string>;
  [member: string]: unknown;
}

export interface Receipt {
  schema: string;
  capture: Record<string, unknown>;
  environment: Record<string, unknown>;
  dictionary: Record<string, unknown>;
  evidence: Evidence;
  verdict: Verdict;
  times: Record<string, Count | null>;
  removed_fields: string[];
  references: Record<string, unknown>[];
  digest: { algorithm: "sha256"; evidence: string; receipt: string };
  [member: string]: unknown;
}
