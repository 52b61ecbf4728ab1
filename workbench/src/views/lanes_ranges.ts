// SPDX-License-Identifier: Apache-2.0
//
// Steps and phases of the events that are there one by one, as stretches of rows.
import type { Incident } from "../data/incident";
import type { Table } from "../data/table";

export interface PhaseRange {
  from: number; // row
  to: number; // row
  phase: number;
  depth: number;
}

export interface Bands {
  steps: Int32Array; // rows at which a step ended
  stepNumber: Float64Array; // steps ended there
  ranges: PhaseRange[]; // of one thread, by begin
  deepest: number;
  threads: number; // with ranges
}

const kModule = 4;
const kCollection = 5;
const kDeepest = 4;

interface Open {
  range: PhaseRange;
  ticket: number;
}

function listOf<T>(lists: Map<number, T[]>, key: number): T[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}

function rangesByThread(events: Table, wanted: (family: number) => boolean): Map<number, PhaseRange[]> {
  const [ticket, kind, thread, phase, code, cause] = ["ticket", "kind", "thread", "phase", "code", "cause"].map((name) => events.column(name));
  const begins = events.words.kind.indexOf("phase_begin");
  const ends = events.words.kind.indexOf("phase_end");
  const found = new Map<number, PhaseRange[]>();
  const open = new Map<number, Open[]>();
  for (let row = 0; row < events.rows; ++row) {
    const what = kind.number(row);
    if (what !== begins && what !== ends) continue;
    const on = thread.number(row);
    const stack = listOf(open, on);
    if (what === begins) {
      if (!wanted(code.number(row))) continue;
      const range = { from: row, to: events.rows - 1, phase: phase.number(row) || 0, depth: stack.length };
      stack.push({ range, ticket: ticket.number(row) });
      listOf(found, on).push(range);
      continue;
    }
    const at = stack.findIndex((one) => one.ticket === cause.number(row));
    if (at < 0) continue;
    stack[at].range.to = row;
    stack.splice(at, 1);
  }
  return found;
}

function longest(byThread: Map<number, PhaseRange[]>): PhaseRange[] {
  const rows = (ranges: PhaseRange[]) => ranges.reduce((sum, range) => sum + (range.depth === 0 ? range.to - range.from : 0), 0);
  return [...byThread.values()].sort((a, b) => rows(b) - rows(a))[0] ?? [];
}

function make(events: Table): Bands {
  const step = events.words.kind.indexOf("step");
  const kind = events.column("kind");
  const number = events.column("step");
  const steps: number[] = [];
  for (let row = 0; row < events.rows; ++row) if (kind.number(row) === step) steps.push(row);
  let byThread = rangesByThread(events, (family) => family !== kModule && family !== kCollection);
  if (byThread.size === 0) byThread = rangesByThread(events, (family) => family === kModule);
  const ranges = longest(byThread).filter((range) => range.depth < kDeepest);
  return {
    steps: Int32Array.from(steps),
    stepNumber: Float64Array.from(steps, (row) => number.number(row)),
    ranges,
    deepest: ranges.reduce((most, range) => Math.max(most, range.depth + 1), 0),
    threads: byThread.size,
  };
}

const made = new WeakMap<Incident, Bands>();

export function bandsOf(incident: Incident): Bands {
  let bands = made.get(incident);
  if (bands === undefined) made.set(incident, (bands = make(incident.events)));
  return bands;
}
