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

type Growth = NonNullable<Evidence["growth"]> & { survivors?: Survivor[]; kept_since_failure_bytes?: Count; request_repeated?: boolean };

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

export interface Unjudged {
  site: number;
  bytes: number;
  reason: string;
}

const kSurvivorSteps = 3;

// Blocks of a site by the interval (b_j, b_j+1] that they were born in: 0 is before b_2, so start and warming up.
function reasonOf(tickets: number[], points: Point[]): string {
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
  return `left something behind in ${judged.size} of the judged steps; ${kSurvivorSteps} are needed`;
}

const kListed_count = 12;

export function unjudgedOf(evidence: Evidence): Unjudged[] {
  const growth = growthOf(evidence);
  const extents = evidence.extents;
  const points = pointsOf(evidence);
  if (growth === null || extents === null || points.length < 4) return [];
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
    .map(([site, { bytes, tickets }]) => ({ site, bytes, reason: reasonOf(tickets, points) }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, kListed_count);
}
