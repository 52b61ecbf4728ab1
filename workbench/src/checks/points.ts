// SPDX-License-Identifier: Apache-2.0
//
// "The same point" of two steps (VERDICT.md §6): boundaries that the program marked, else the rhythm of the allocations. The rule: marked ones
// are the ends of ranges and steps as the events tell them, which is the recorder's own table only while it kept every one.
import type { History } from "../history/history";
import type { Pace } from "./check";
import type { Failing } from "./failing";
import type { Rows } from "./rows";
import {
  kBoundariesNeeded,
  kGranule_bytes,
  kComparedPairs,
  kInferredEventsNeeded,
  kInferredRuns,
  kInferredRunsNeeded,
  kSpacedPairsPoints,
  kSpacingDivisor,
} from "./thresholds";

export interface Point {
  ticket: number;
  active: number;
  reserved: number;
  free: number | null;
}

export interface Points {
  basis: "marked" | "certified" | "uncertified" | "too_few";
  family: string;
  list: Point[];
}

export interface Boundary extends Point {
  family: string;
  opened: number | null; // ticket
  thread: number | null;
  name: number | null; // ordinal of the folded one
  depth: number;
  dimensions: string;
}

const kFamilies = ["step", "optimizer", "range", "module"];

// Every boundary up to a row, with what the device had reported by then.
export function boundariesOf(rows: Rows, device: number, last: number): Boundary[] {
  const boundaries: Boundary[] = [];
  const noted = new Map<number, number>();
  const open = new Map<number, { family: number; depth: number; inside: boolean; thread: number | null }>();
  const answers = rows.ofKinds("mem_info", "device_sample").filter((row) => rows.isObservation(row) && rows.of("device", row) === device);
  let answered = 0; // of answers, those before the row
  let report = -1; // row
  let looked = -1; // row up to which reports were looked for
  let step: number | null = null;
  const add = (row: number, family: string, opened: number | null, depth: number) => {
    for (let at = row; at > looked; --at) {
      if (rows.of("device", at) !== device || !rows.isReport(at)) continue;
      report = at;
      break;
    }
    looked = row;
    if (report < 0) return;
    while (answered < answers.length && answers[answered] <= row) ++answered;
    const free = answered === 0 ? null : rows.of("device_free_bytes", answers[answered - 1])!;
    boundaries.push({
      ticket: rows.of("ticket", row)!,
      active: rows.of("allocated_bytes", report)!,
      reserved: rows.of("reserved_bytes", report)!,
      free: free === null ? null : Math.floor(free / kGranule_bytes) * kGranule_bytes, // as the recorder's table has it
      family,
      opened,
      thread: rows.of("thread", row),
      name: rows.of("phase", row),
      depth,
      dimensions: [...noted].sort((a, b) => a[0] - b[0]).join(" "),
    });
  };
  for (const row of rows.ofKinds("note", "phase_begin", "phase_end", "step")) {
    if (row > last) break;
    const kind = rows.kind(row);
    const ticket = rows.of("ticket", row)!;
    const thread = rows.of("thread", row);
    const family = rows.of("code", row) ?? 0;
    if (kind === "note") {
      noted.set(rows.of("dimension", row) ?? 0, rows.of("value", row) ?? 0);
    } else if (kind === "phase_begin") {
      const own = [...open.values()].filter((range) => range.thread === thread);
      const depth = own.filter((range) => range.family === 2 || range.family === 3).length;
      open.set(ticket, { family, depth, inside: own.some((range) => range.family === 2), thread });
    } else if (kind === "phase_end") {
      const begin = rows.of("cause", row);
      const range = begin === null ? undefined : open.get(begin);
      if (range === undefined || range.thread !== thread) continue;
      open.delete(begin!);
      if (family >= 2 && family <= 4 && !(family === 2 && range.inside)) add(row, kFamilies[family - 1], begin, family === 4 ? 0 : range.depth);
    } else if ((family & 2) === 0) {
      add(row, "step", step, 0);
      step = ticket;
    }
  }
  return boundaries;
}

const covered = (group: Boundary[]) => group.reduce((sum, one) => sum + (one.opened === null ? 0 : Math.max(0, one.ticket - one.opened)), 0);

function grouped(all: Boundary[], keyOf: (one: Boundary) => unknown): Boundary[][] {
  const groups = new Map<unknown, Boundary[]>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

function bestOfFamily(boundaries: Boundary[], family: string): Boundary[] {
  let all = boundaries.filter((one) => one.family === family && (family !== "range" || one.depth === 0));
  if (all.length === 0) return all;
  if (family === "range") all = grouped(all, (one) => one.thread).reduce((a, b) => (covered(b) > covered(a) ? b : a));
  const named = family === "range" || family === "module";
  const groups = grouped(all, (one) => `${one.dimensions}|${named ? one.name : ""}`);
  return groups.reduce((a, b) => (b.length > a.length || (b.length === a.length && covered(b) > covered(a)) ? b : a));
}

export async function pointsOf(failing: Failing, history: History, pace: Pace): Promise<Points> {
  const boundaries = boundariesOf(failing.rows, failing.device, failing.row);
  let most: Points = { basis: "too_few", family: "none", list: [] };
  for (const family of kFamilies) {
    const group = bestOfFamily(boundaries, family);
    const list = group.map(({ ticket, active, reserved, free }) => ({ ticket, active, reserved, free }));
    if (group.length >= kBoundariesNeeded) return { basis: "marked", family, list };
    if (group.length > most.list.length) most = { basis: "too_few", family, list };
  }
  return (await inferred(failing, history, pace)) ?? most;
}

export function growingPairs(list: readonly { active: number }[]): number {
  const spacings = [1, ...(list.length >= kSpacedPairsPoints ? [Math.floor((list.length - 1) / kSpacingDivisor)] : [])];
  return Math.max(
    ...spacings.map((spacing) => {
      let growing = 0;
      for (let pair = 0, later = list.length - 1; pair < kComparedPairs && later - spacing >= 0; ++pair, later -= spacing) {
        if (list[later].active > list[later - spacing].active) ++growing;
      }
      return growing;
    }),
  );
}

// Sixteen runs of events from the heartbeat's first allocation on; the boundary of each is where least is allocated.
async function inferred({ rows, row: f, device }: Failing, history: History, pace: Pace): Promise<Points | null> {
  const { lives } = history;
  const beats = new Map<string, { freed: number; first: number }>();
  const all: number[] = []; // rows
  const beatOf = (life: number) => `${lives.site[life]} ${lives.size[life]}`;
  const freed = new Map<number, number>(); // life by row
  for (let life = 0; life < lives.count; ++life) {
    if (lives.kind[life] === 0 && lives.death[life] < f) freed.set(lives.death[life], life);
  }
  for (let row = 0; row < f; ++row) {
    if ((row & 4095) === 0) await pace.breathe();
    const kind = rows.kind(row);
    if (rows.of("device", row) !== device || (kind !== "block_alloc" && kind !== "block_free")) continue;
    all.push(row);
    const life = freed.get(row);
    const key = kind === "block_alloc" ? `${rows.of("site", row)} ${rows.of("size_bytes", row)}` : life === undefined ? null : beatOf(life);
    if (key === null) continue;
    const beat = beats.get(key) ?? { freed: 0, first: Infinity };
    beats.set(key, beat);
    if (kind === "block_alloc") beat.first = Math.min(beat.first, row);
    else beat.freed += 1;
  }
  const heart = [...beats]
    .filter(([, beat]) => beat.first < Infinity && beat.freed > 0)
    .sort(([, a], [, b]) => b.freed - a.freed || a.first - b.first)[0];
  if (heart === undefined) return null;
  const events = all.filter((row) => row >= heart[1].first);
  if (events.length < kInferredEventsNeeded) return null;
  const firstOf = (run: number) => Math.ceil((run * events.length) / kInferredRuns);
  const indexOf = new Map(events.map((row, index) => [row, index]));
  const bornIn = new Set<number>();
  for (const [at, row] of events.entries()) {
    if ((at & 4095) === 0) await pace.breathe();
    const life = freed.get(row);
    const index = life === undefined || beatOf(life) !== heart[0] ? undefined : indexOf.get(lives.birth[life]);
    if (index === undefined || rows.kind(row) !== "block_free") continue;
    let run = 0;
    while (run + 1 < kInferredRuns && firstOf(run + 1) <= index) ++run;
    bornIn.add(run);
  }
  if (bornIn.size < kInferredRunsNeeded) return null;
  const list: Point[] = [];
  let certified = 0;
  for (let run = 0; run < kInferredRuns; ++run) {
    const part = events.slice(firstOf(run), firstOf(run + 1));
    const stretches = part.filter((row, index) => index === 0 || rows.of("thread", row) !== rows.of("thread", part[index - 1])).length;
    if (stretches > new Set(part.map((row) => rows.of("thread", row))).size) ++certified;
    const least = part.reduce((a, b) => (rows.of("allocated_bytes", b)! < rows.of("allocated_bytes", a)! ? b : a));
    list.push({
      ticket: rows.of("ticket", least)!,
      active: rows.of("allocated_bytes", least)!,
      reserved: rows.of("reserved_bytes", least)!,
      free: null,
    });
  }
  return { basis: certified >= kInferredRunsNeeded ? "certified" : "uncertified", family: "none", list };
}
