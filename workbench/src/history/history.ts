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
  readonly place: Float64Array; // bytes
  readonly size: Float64Array; // bytes
  readonly ticket: Float64Array; // of the birth
  readonly site: Int32Array;
  readonly phase: Int32Array;
  readonly step: Int32Array; // steps ended before the birth
  readonly library: Int32Array;
  readonly requested: Float64Array; // bytes, NaN where nobody told
}

export const LifeKind = { block: 0, region: 1, outside: 2 } as const; // regions: what segments are made of

export interface Segment {
  place: number; // bytes
  size: number; // bytes
  kind: "native" | "expandable";
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
  regions: Int32Array; // lives of candidates and direct ones, which are no segment
  activeBytes: number;
  segmentBytes: number;
}

export type Lane = "active" | "reserved" | "used" | "own_outside" | "other_processes" | "unattributed" | "allocated_reported" | "reserved_reported";

export interface History {
  readonly rows: number;
  readonly lives: Lives;
  scene(device: number, instant: number): Scene;
  categoryOf(life: number, instant: number): string; // a word; "unknown" where nothing told
  // The value of a lane after each row, NaN where not known; the whole device's, computed once.
  lane(device: number, lane: Lane): Float64Array;
  rowOf(ticket: number): number; // of the last row at or before a ticket; −1: before the first
  failureRow: number | null; // of the incident in evidence
  peakRow(device: number): number; // first row with the greatest active bytes; −1: the state before the first row
}
