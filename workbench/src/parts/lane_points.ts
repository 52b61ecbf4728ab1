// SPDX-License-Identifier: Apache-2.0
//
// What of a lane is drawn in a stretch of the axis. The rule: every value in the stretch lies between the least and the greatest that are drawn at
// its place, however far one looks out; near enough each row is a point of its own. Not known is a gap.
import { Extremes } from "./extremes";

// Where rows and runs lie on an axis; neither ever goes back.
export interface Positions {
  rows: Float64Array; // of each row
  runFrom: Float64Array; // of each run of events that are not there one by one
  runTo: Float64Array;
}

export interface LaneData {
  rows: Extremes | null; // null: not there yet
  least: Float64Array; // of each run
  greatest: Float64Array;
  last: Float64Array;
}

export interface Sampled {
  x: number[];
  y: (number | null)[][]; // of each lane
  exact: boolean; // each row is a point: steps may be drawn
}

// First index whose position is not below `at`.
export function firstFrom(positions: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

// The run that covers a place, or −1.
export function runAt(positions: Positions, at: number): number {
  const run = firstFrom(positions.runTo, at);
  return run < positions.runTo.length && positions.runFrom[run] <= at ? run : -1;
}

function rowByRow(positions: Positions, lanes: LaneData[], first: number, end: number): Sampled {
  const x: number[] = [];
  const y: (number | null)[][] = lanes.map(() => []);
  for (let row = first; row < end; ++row) {
    x.push(positions.rows[row]);
    lanes.forEach((lane, at) => y[at].push(lane.rows === null ? null : known(lane.rows.values[row])));
  }
  return { x, y, exact: true };
}

interface Merged {
  least: number;
  greatest: number;
  rising: boolean;
}

function merge(into: Merged | null, least: number, greatest: number, rising: boolean): Merged | null {
  if (Number.isNaN(least) || Number.isNaN(greatest)) return into;
  if (into === null) return { least, greatest, rising };
  return { least: Math.min(into.least, least), greatest: Math.max(into.greatest, greatest), rising };
}

function ofRows(lane: LaneData, first: number, end: number): Merged | null {
  const range = lane.rows?.over(first, end) ?? null;
  if (range === null) return null;
  const values = lane.rows!.values;
  return { ...range, rising: values[end - 1] >= values[first] };
}

function ofRuns(lane: LaneData, first: number, end: number): Merged | null {
  let merged: Merged | null = null;
  for (let run = first; run < end; ++run) {
    const before = run > 0 ? lane.last[run - 1] : lane.least[run];
    merged = merge(merged, lane.least[run], lane.greatest[run], lane.last[run] >= before);
  }
  return merged;
}

// Two points a cell: the least and the greatest of it, in the order in which the lane went.
export function sample(positions: Positions, lanes: LaneData[], from: number, to: number, cells: number): Sampled {
  const rows = positions.rows;
  const first = firstFrom(rows, from);
  const end = firstFrom(rows, to) + (rows[firstFrom(rows, to)] === to ? 1 : 0);
  const runs = positions.runTo;
  const runsInside = firstFrom(runs, from) < runs.length && positions.runFrom[firstFrom(runs, from)] < to;
  if (!runsInside && rows.length > 0 && end - first <= cells * 2) {
    return rowByRow(positions, lanes, Math.max(0, first - 1), Math.min(rows.length, end + 1));
  }
  const x: number[] = [];
  const y: (number | null)[][] = lanes.map(() => []);
  let row = Math.max(0, first - 1);
  for (let cell = 0; cell < cells; ++cell) {
    const left = from + ((to - from) * cell) / cells;
    const right = from + ((to - from) * (cell + 1)) / cells;
    const nextRow = cell + 1 === cells ? Math.max(end, row) : Math.max(row, firstFrom(rows, right));
    const firstRun = firstFrom(runs, left);
    let endRun = firstRun;
    while (endRun < runs.length && positions.runFrom[endRun] < right) ++endRun;
    x.push(left, (left + right) / 2);
    lanes.forEach((lane, at) => {
      let merged = nextRow > row ? ofRows(lane, row, nextRow) : null;
      const run = ofRuns(lane, firstRun, endRun);
      if (run !== null) merged = merge(merged, run.least, run.greatest, run.rising);
      // Between two rows the lane keeps its value.
      if (merged === null && nextRow === row && endRun === firstRun && row > 0 && row < rows.length && lane.rows !== null) {
        const kept = lane.rows.values[row - 1];
        merged = merge(null, kept, kept, true);
      }
      if (merged === null) y[at].push(null, null);
      else if (merged.rising) y[at].push(merged.least, merged.greatest);
      else y[at].push(merged.greatest, merged.least);
    });
    row = nextRow;
  }
  return { x, y, exact: false };
}

// Round steps of an axis of bytes: powers of two times 1 MiB and the like, at most `most` of them up to the top.
export function byteSteps(top_bytes: number, most: number): number[] {
  let step = 1;
  while (top_bytes / step > most) step *= 2;
  const steps: number[] = [];
  for (let at = 0; at <= top_bytes; at += step) steps.push(at);
  return steps;
}
