// SPDX-License-Identifier: Apache-2.0
//
// What the page computes of an incident, and how every view asks for it. The rule: from `begin` and `events` alone, never from the replay's
// results; an instant is the number of a row of `events` and means after that row, −1 before the first.

// Every object that was live at some instant. Column-wise, because there may be a million.
export interface Lives {
  readonly count: number;
  readonly kind: Uint8Array; // of LifeKind
  readonly device: Int8Array; // −1: not known
  readonly birth: Int32Array; // row; −1: before the first
  readonly death: Int32Array; // row; rows (of events) when it never died
  readonly deferredUntil: Int32Array; // a block that was freed and still waited for: the row that completed it; else its death
  readonly place: Float64Array; // bytes; NaN of what has no address of its own (physical memory)
  readonly size: Float64Array; // bytes
  readonly ticket: Float64Array; // of the birth
  readonly site: Int32Array;
  readonly phase: Int32Array;
  readonly step: Uint32Array; // steps ended before the birth
  readonly library: Int32Array;
  readonly requested: Float64Array; // bytes, NaN where nobody told
}

export const LifeKind = { block: 0, region: 1, outside: 2 } as const; // regions: what segments are made of

export type SegmentState = "segment" | "candidate" | "direct" | "foreign";

export interface Segment {
  place: number; // bytes
  size: number; // bytes
  ticket: number; // of the birth; of an expandable one that of some mapping of it
  kind: "native" | "expandable";
  granule: number; // bytes: size of its lowest mapping; of a native one its size
  sizeClass: "small" | "large" | "unknown";
  ordinal: number; // by place among the segments of the device, from 0, as in the receipt's extents
  stream: number | null;
  pool: number | null;
}

export interface Extent {
  segment: number; // index into segments
  place: number; // bytes
  size: number; // bytes
}

// One device at one instant.
export interface Scene {
  device: number;
  instant: number;
  blocks: Int32Array; // lives, by place; deferred ones too
  deferred: Set<number>; // lives
  segments: Segment[]; // settled ones, by place
  free: Extent[]; // by place
  regions: Int32Array; // lives of candidates and direct ones, which are no segment, by place
  activeBytes: number; // live and deferred blocks
  segmentBytes: number;
  candidateBytes: number;
  directBytes: number;
  tapSeen: boolean; // whether deferred blocks can be known
}

export const kCategories = ["unknown", "parameter", "gradient", "optimizer_state", "buffer", "input", "activation"] as const;
export type Category = (typeof kCategories)[number];

// The state after a row, its own observation included: as the columns of the ledger of that name; `allocated`: live blocks alone, `reserved`:
// held_bytes, `total`: of the last answer, `used`: that less expected_free. The two reported ones are as last reported; `in_use`: active, and what
// the allocator last reported beyond all live blocks; `unseen_allocated`: what its last report stated beyond the blocks that were live then.
export type Lane =
  | "active"
  | "in_use"
  | "unseen_allocated"
  | "allocated"
  | "deferred"
  | "segment"
  | "candidate"
  | "direct"
  | "reserved"
  | "own_outside"
  | "other_processes"
  | "unattributed"
  | "expected_free"
  | "total"
  | "used"
  | "allocated_reported"
  | "reserved_reported"
  | `category:${Exclude<Category, "unknown">}`;

// What the history cannot know of this window.
export interface Limit {
  column: string; // of `derived`, or `device N` where it is all of a device's
  why: string;
}

export interface BrokenRule {
  count: number;
  row: number; // of the first time; −1: the state before the first row
}

export interface History {
  readonly rows: number;
  readonly lives: Lives;
  readonly limits: readonly Limit[];
  readonly broken: ReadonlyMap<string, BrokenRule>; // by rule of VERDICT.md §12; replaying goes on behind it
  scene(device: number, instant: number): Scene;
  categoryOf(life: number, instant: number): Category;
  // The value of a lane after each row, NaN where not known, for every row, whichever device it is about; computed once.
  lane(device: number, lane: Lane): Float64Array;
  laneAt(device: number, lane: Lane, instant: number): number; // without computing the whole lane
  // A column of `derived`, computed: for each row the value for its own device; NaN where empty or not known.
  ledger(column: string): Float64Array;
  outsideByLibrary(device: number, instant: number): Map<number, number>; // bytes by library ordinal, 0: not named; sums to own_outside
  rowOf(ticket: number): number; // of the last row at or before a ticket; −1: before the first
  lifeOf(ticket: number): number; // the block or region that was born there; −1: none
  failureRow: number | null; // of the incident in evidence
  // First row with the greatest sum of live blocks (up to the failure of the device, where there is one), as in the receipt; −1: before the first
  // of the window; null: it is among the events that a summarised page does not hold, or nothing tells that it is not.
  peakRow(device: number): number | null;
}
