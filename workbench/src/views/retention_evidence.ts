// SPDX-License-Identifier: Apache-2.0
//
// What the receipt says of growth, read for the view; and why a site with live bytes is no survivor site. The rule: the judgement is the receipt's
// (VERDICT.md §7); only the reason is found here, from the birth tickets and points that it lists.
import type { Evidence } from "../data/receipt";
import type { Count } from "../parts/units";

export interface Point {
  ticket: number;
  active_bytes: number;
  reserved_bytes: number;
}

export interface Survivor {
  site: number;
  bytes: Count;
  block_count: Count;
  step_count: number;
  clean_step_count: number;
  bytes_per_step: Count;
  oldest_ticket: Count;
  oldest_step: number;
  least_block_bytes: Count;
  greatest_block_bytes: Count;
  live_bytes: Count;
}

type Growth = NonNullable<Evidence["growth"]> & {
  survivors?: Survivor[];
  kept_since_failure_bytes?: Count;
  unknown_birth_bytes?: Count;
  request_repeated?: boolean;
};

export function growthOf(evidence: Evidence): Growth | null {
  return evidence.growth as Growth | null;
}

export function survivorsOf(evidence: Evidence): Survivor[] {
  return growthOf(evidence)?.survivors ?? [];
}

export function pointsOf(evidence: Evidence): Point[] {
  const points = growthOf(evidence)?.points;
  if (points === undefined) return [];
  const at = (name: string) => points.columns.indexOf(name);
  const [ticket, active, reserved] = [at("ticket"), at("active_bytes"), at("reserved_bytes")];
  return points.rows.map((row) => ({ ticket: Number(row[ticket]), active_bytes: Number(row[active]), reserved_bytes: Number(row[reserved]) }));
}

export interface Spacing {
  least: number; // steps that ended from one point to the next
  greatest: number;
  steps: number; // from the first point to the last
}

// How many steps lie between points: those that can be compared need not follow each other. Null where the points are not all known by step.
export function spacingOf(points: readonly Point[], stepsEnded: (ticket: number) => number | null): Spacing | null {
  const ended = points.map((point) => stepsEnded(point.ticket));
  if (ended.length < 2 || ended.some((steps) => steps === null)) return null;
  const between = ended.slice(1).map((steps, at) => steps! - ended[at]!);
  const least = Math.min(...between);
  return least < 1 ? null : { least, greatest: Math.max(...between), steps: ended[ended.length - 1]! - ended[0]! };
}

// What lies between two points, for a text that counts them.
export function intervalWord(spacing: Spacing | null): "step" | "point" {
  return spacing !== null && spacing.greatest === 1 ? "step" : "point";
}

export function spacingText({ least, greatest, steps }: Spacing): string {
  if (greatest === 1) return "Each is one step after the one before it.";
  const apart = least === greatest ? `${least} steps apart each` : `${least} to ${greatest} steps apart`;
  return `They are ${apart}, ${steps} steps in all: steps of another kind or batch are not compared, but what they left behind is counted.`;
}

export interface Unjudged {
  site: number;
  bytes: number;
  reason: string;
}

const kSurvivorSteps = 3;

// Blocks of a site by the interval (b_j, b_j+1] that they were born in: 0 is before b_2, so start and warming up.
function reasonOf(all: number[], points: Point[], births_known_from_ticket: number): string {
  const tickets = all.filter((ticket) => ticket >= births_known_from_ticket);
  if (tickets.length === 0) return "there before the recording: when it was born is not known";
  const last = points.length - 2; // points[last] is b_{k−1}: what is born after it cannot be judged
  const judged = new Set<number>();
  let early = 0;
  let late = 0;
  for (const ticket of tickets) {
    if (ticket <= points[1].ticket) early += 1;
    else if (ticket > points[last].ticket) late += 1;
    else judged.add(points.findIndex((point) => ticket <= point.ticket));
  }
  if (early === tickets.length) return "born before the second point: start and warming up";
  if (late === tickets.length) return "born after the last point but one: its step is not over";
  if (early + late === tickets.length) return "born before the second point or after the last but one";
  // Steps enough, and no survivor site all the same: what an earlier failure explains is not counted.
  if (judged.size >= kSurvivorSteps) return "born before an earlier failure that the job got over: kept since then, not retained";
  return `left something behind in ${judged.size} of the judged steps; ${kSurvivorSteps} are needed`;
}

const kUnjudging = new Set(["too_few", "lapped"]); // bases by which no step is
const kLeastPoints_count = 4;

// Whether what a site left in its steps is judged at all.
export function judgesSites(evidence: Evidence): boolean {
  const growth = growthOf(evidence);
  return growth !== null && !kUnjudging.has(growth.basis) && pointsOf(evidence).length >= kLeastPoints_count;
}

const kListed_count = 12;

export function unjudgedOf(evidence: Evidence): Unjudged[] {
  const extents = evidence.extents;
  const points = pointsOf(evidence);
  if (extents === null || !judgesSites(evidence)) return [];
  const known_from = Number(growthOf(evidence)?.births_known_from_ticket ?? 0);
  const survivors = new Set(survivorsOf(evidence).map((one) => one.site));
  const at = (name: string) => extents.columns.indexOf(name);
  const [of, size, birth] = [at("site"), at("size_bytes"), at("allocation")]; // live blocks alone have a birth
  const bySite = new Map<number, { bytes: number; tickets: number[] }>();
  for (const row of extents.rows) {
    const site = Number(row[of]);
    if (row[birth] === null || survivors.has(site)) continue;
    const entry = bySite.get(site) ?? { bytes: 0, tickets: [] };
    entry.bytes += Number(row[size]);
    entry.tickets.push(Number(row[birth]));
    bySite.set(site, entry);
  }
  return [...bySite]
    .map(([site, { bytes, tickets }]) => ({ site, bytes, reason: reasonOf(tickets, points, known_from) }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, kListed_count);
}
