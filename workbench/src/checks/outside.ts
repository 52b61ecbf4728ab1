// SPDX-License-Identifier: Apache-2.0
//
// What is known at a failure of the card and of whoever else holds it (VERDICT.md §5). The rule: an observation counts for the baseline only when
// it is older than the failing operation; "nothing was observed" can be said only of a recording whose begin is in the page.
import { LifeKind, type History } from "../history/history";
import type { Failing } from "./failing";
import type { Rows } from "./rows";
import { kTransientAge_ns } from "./thresholds";

export interface Outside {
  total: number | null;
  free: number | null;
  freeObserved: boolean;
  others: number | null;
  otherProcesses: number | null;
  cap: number | null;
  sharesJob: boolean;
  samplesBefore: number; // of processes, before the failure, with a size; what lies between the last two is the last one's
  named: number;
  imported: boolean; // whoever made the recording chose the baseline
  baselineTicket: number | null;
  baselineOutside: number | null;
  namedGrowth: number | null; // null: not to be told from the page
  baselineUnattributed: number | null;
  earlier: number | null;
}

const less = (a: number, b: number) => Math.max(0, a - b);

export function outsideOfObservation(rows: Rows, row: number): number {
  return less(less(rows.of("device_total_bytes", row)!, rows.of("device_free_bytes", row)!), rows.of("reserved_bytes", row) ?? 0);
}

interface Seen {
  observations: number[];
  firstBlock: number | null;
  imported: boolean; // the first report is of what was there before
  firstBoundary: number | null;
  samples: number[]; // process_sample
  lastCap: number | null;
}

function look(rows: Rows, device: number, last: number): Seen {
  const own = (...kinds: string[]) => rows.ofKinds(...kinds).filter((row) => rows.of("device", row) === device);
  const firstOf = (found: number | undefined) => found ?? null;
  const blocks = rows.ofKinds("block_alloc");
  const block = firstOf(blocks.find((row) => rows.of("device", row) === device));
  const before = firstOf(own("initial", "initial_segment").find((row) => rows.isReport(row)));
  const imported = before !== null && (block === null || before < block);
  const firstBlock = imported ? before : block;
  const ends = firstBlock === null ? [] : rows.ofKinds("step", "phase_end");
  return {
    observations: own("mem_info", "device_sample").filter((row) => rows.isObservation(row)),
    firstBlock,
    imported,
    firstBoundary: firstOf(ends.find((row) => row > firstBlock! && row <= last && isBoundary(rows, row, rows.kind(row)))),
    samples: own("process_sample").filter((row) => row <= last),
    lastCap: firstOf(
      own("cap")
        .filter((row) => row < last)
        .pop(),
    ),
  };
}

// The end of a step that the program told of, or of a range that is one.
export function isBoundary(rows: Rows, row: number, kind: string): boolean {
  const code = rows.of("code", row) ?? 0;
  if (kind === "step") return (code & 2) === 0;
  return kind === "phase_end" && code >= 2 && code <= 4 && rows.of("cause", row) !== null;
}

function sharesJob(rows: Rows, device: number, seen: Seen, failing: number): boolean {
  const samples = seen.samples.filter((row) => row < failing);
  const known = samples.filter((row) => rows.of("others_bytes", row) !== null);
  if (known.length === 0) return false;
  const sample = known[known.length - 1];
  const before = samples[samples.indexOf(sample) - 1] ?? -1;
  let inJob = 0;
  for (let row = before + 1; row < sample; ++row) {
    if (rows.kind(row) === "neighbour" && rows.of("device", row) === device && rows.of("code", row) === 1) inJob += rows.of("size_bytes", row) ?? 0;
  }
  const others = rows.of("others_bytes", sample)!;
  return others > 0 && 2 * inJob >= others;
}

export function outsideAt(history: History, failing: Failing): Outside {
  const { rows, row: f, device, operation } = failing;
  const seen = look(rows, device, f);
  const outside: Outside = {
    total: null,
    free: null,
    freeObserved: operation.freeObserved,
    others: null,
    otherProcesses: null,
    cap: null,
    sharesJob: sharesJob(rows, device, seen, f),
    samplesBefore: seen.samples.filter((row) => row < f).length,
    named: 0,
    imported: seen.imported,
    baselineTicket: null,
    baselineOutside: null,
    namedGrowth: 0,
    baselineUnattributed: null,
    earlier: null,
  };
  takeCard(failing, seen, outside);

  const sample = seen.samples.filter((row) => row < f).pop();
  if (sample !== undefined) outside.others = rows.of("others_bytes", sample);
  if (sample !== undefined && outside.others !== null) outside.otherProcesses = rows.of("code", sample);
  const cap = seen.lastCap === null ? null : rows.of("size_bytes", seen.lastCap);
  outside.cap = cap === 0 ? null : cap;

  const older = (row: number | undefined) => (row !== undefined && rows.of("ticket", row)! < operation.begin ? row : undefined);
  const telling = (row: number | undefined) => (row !== undefined && rows.tellsOutside(row) ? older(row) : undefined);
  const atBoundary = seen.firstBoundary === null ? undefined : telling(seen.observations.filter((row) => row <= seen.firstBoundary!).pop());
  const first = telling(seen.observations.find((row) => seen.firstBlock !== null && row > seen.firstBlock));
  const baseline = atBoundary ?? first;
  takeNamed(history, failing, baseline === undefined ? null : rows.of("ticket", baseline), outside);
  if (baseline !== undefined) {
    outside.baselineTicket = rows.of("ticket", baseline);
    outside.baselineOutside = outsideOfObservation(rows, baseline);
    const before = older(seen.samples[0]);
    const others = before === undefined ? 0 : (rows.of("others_bytes", before) ?? 0);
    outside.baselineUnattributed = less(less(outside.baselineOutside, others), outside.named - (outside.namedGrowth ?? 0));
  }
  for (const row of seen.observations) {
    const age = (rows.of("time_ns", f) ?? NaN) - (rows.of("time_ns", row) ?? NaN);
    const counts = row < f && age >= kTransientAge_ns && rows.tellsOutside(row);
    if (counts) outside.earlier = Math.min(outside.earlier ?? Infinity, outsideOfObservation(rows, row));
  }
  return outside;
}

function takeCard({ rows, row: f, operation }: Failing, seen: Seen, outside: Outside) {
  const answer = operation.observation;
  if (answer !== null) {
    outside.total = rows.of("device_total_bytes", answer);
    outside.free = rows.of("device_free_bytes", answer);
    return;
  }
  if (seen.observations.length > 0) {
    outside.total = rows.of("device_total_bytes", seen.observations[0]);
    const sample = seen.observations.filter((row) => row < f && rows.kind(row) === "device_sample").pop();
    const fits = sample !== undefined && rows.of("device_total_bytes", sample) === outside.total && operation.victim === "pytorch";
    if (fits) outside.free = rows.of("device_free_bytes", sample);
  }
  const traced = operation.tapOom === null ? null : rows.of("device_free_bytes", operation.tapOom);
  outside.free = traced ?? outside.free;
}

// Of libraries with a name: ordinal 0 is what has none, or none in the receipt.
function takeNamed(history: History, { row: f, device }: Failing, baselineTicket: number | null, outside: Outside) {
  const { lives } = history;
  for (const [library, bytes] of history.outsideByLibrary(device, f)) if (library !== 0) outside.named += bytes;
  let seen = 0;
  let grown = 0;
  for (let life = 0; life < lives.count; ++life) {
    if (lives.kind[life] !== LifeKind.outside || lives.device[life] !== device || lives.library[life] === 0) continue;
    if (lives.birth[life] > f || lives.death[life] <= f) continue;
    seen += lives.size[life];
    if (baselineTicket === null || lives.ticket[life] > baselineTicket) grown += lives.size[life];
  }
  outside.namedGrowth = seen === outside.named ? grown : null;
}
