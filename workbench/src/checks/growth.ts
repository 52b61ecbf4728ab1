// SPDX-License-Identifier: Apache-2.0
//
// Growth from step to step (VERDICT.md §6, §7): the points, and what survived between them. The rule: where the page cannot find the points
// itself, it takes those of the receipt, compares each with the events, and says so.
import type { Growth } from "../data/receipt";
import { beganLate, foundAt, isBirthKnown } from "../history/before";
import { Comparison, notRecomputed, type Check, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { boundariesOf, growingPairs, pointsOf, type Boundary, type Point, type Points } from "./points";
import { isBoundary } from "./outside";
import type { Rows } from "./rows";
import { kBoundariesNeeded, kComparedPairs, kGrowingPairsNeeded, kSurvivorStepsNeeded } from "./thresholds";

const kPointColumns = ["ticket", "active_bytes", "reserved_bytes", "device_free_bytes"];
const cells = (point: Point) => [point.ticket, point.active, point.reserved, point.free];

function toldPoints(growth: Growth): Point[] {
  const number = (value: unknown) => (value === null ? null : Number(value));
  return growth.points.rows.map((row) => ({ ticket: Number(row[0]), active: Number(row[1]), reserved: Number(row[2]), free: number(row[3]) }));
}

function whyNotFound(failing: Failing, subject: Subject): string | null {
  const { boundary_stride, boundaries_dropped_count } = subject.incident.receipt.capture;
  if (!failing.reach.fromBirth) return failing.reach.why;
  return String(boundary_stride) === "1" && String(boundaries_dropped_count) === "0" ? null : "the recorder's table kept a part of the boundaries";
}

// Of what was reserved the recorder tells what was last reported, or what is left of it where a segment was given back since.
function reservedAs(told: unknown, reported: number, failing: Failing, subject: Subject, row: number): number {
  const held = subject.history.laneAt(failing.device, "reserved", row);
  return String(held) === String(told) ? held : reported;
}

function comparePoints(own: Points, growth: Growth, failing: Failing, subject: Subject): Result {
  const { rows } = failing;
  const compared = new Comparison();
  compared.same("evidence.growth.basis", own.basis, growth.basis);
  compared.same("evidence.growth.family", own.family, growth.family);
  compared.same("evidence.growth.boundary_count", own.list.length, growth.boundary_count);
  compared.same("evidence.growth.growing_pairs_count", growingPairs(own.list), growth.growing_pairs_count);
  growth.points.rows.forEach((told, index) => {
    const point = own.list[index];
    if (point === undefined) return;
    const row = rowOf(rows, point.ticket);
    if (row !== null) point.reserved = reservedAs(told[2], point.reserved, failing, subject, row);
    cells(point).forEach((value, column) =>
      compared.same(`evidence.growth.points.rows[${index}].${kPointColumns[column]}`, value, told[column], row === null ? null : rows.at(row)),
    );
  });
  return compared.result();
}

function rowOf(rows: Rows, ticket: number): number | null {
  for (let low = 0, high = rows.count - 1; low <= high;) {
    const middle = (low + high) >> 1;
    const at = rows.of("ticket", middle)!;
    if (at === ticket) return middle;
    if (at < ticket) low = middle + 1;
    else high = middle - 1;
  }
  return null;
}

function lastReport(rows: Rows, device: number, row: number): number | null {
  for (let at = row; at >= 0; --at) if (rows.of("device", at) === device && rows.isReport(at)) return at;
  return null;
}

// The points that the receipt tells, as far as their events are in the page: is each a boundary, and were those the totals last reported?
function compareTold(failing: Failing, growth: Growth, subject: Subject): Result {
  const { rows, device } = failing;
  const compared = new Comparison();
  const told = toldPoints(growth);
  compared.same("evidence.growth.growing_pairs_count", growingPairs(told), growth.growing_pairs_count);
  compared.same("evidence.growth.boundary_count", told.length, growth.boundary_count);
  for (const point of told) {
    const row = rowOf(rows, point.ticket);
    if (row === null) continue;
    if (growth.basis === "marked") compared.same("evidence.growth.points: a boundary", isBoundary(rows, row, rows.kind(row)), true, rows.at(row));
    const report = lastReport(rows, device, row);
    if (report === null) continue;
    const reserved = reservedAs(point.reserved, rows.of("reserved_bytes", report)!, failing, subject, row);
    compared.same("evidence.growth.points.active_bytes", rows.of("allocated_bytes", report), point.active, rows.at(row));
    compared.same("evidence.growth.points.reserved_bytes", reserved, point.reserved, rows.at(row));
  }
  return compared.result();
}

// The ticket of the last failure of the device that was got over by the failing instant; null where there is none.
function gotOver({ rows, device, row: f }: Failing, boundaries: Boundary[]): number | null {
  for (const row of [...rows.ofKinds("block_oom")].reverse()) {
    if (row >= f || rows.of("device", row) !== device) continue;
    const ticket = rows.of("ticket", row)!;
    if (boundaries.some((one) => one.opened !== null && one.opened > ticket)) return ticket;
    for (let later = row + 1; later <= f; ++later) {
      const served = rows.kind(later) === "block_alloc" && rows.of("device", later) === device && rows.of("thread", later) === rows.of("thread", row);
      if (served && rows.of("size_bytes", later)! >= rows.of("size_bytes", row)!) return ticket;
    }
  }
  return null;
}

function pointsBefore(points: readonly Point[], ticket: number): number {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].ticket < ticket) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Survivors {
  bytes: number;
  blocks: number;
  steps: Set<number>;
  oldest: number; // life
  least: number;
  greatest: number;
  live: number;
}

// After a late start: live blocks with an unknown birth, and what the last report tells beyond all live blocks.
function unknownBirths({ scene, device, row }: Failing, { incident, history }: Subject): number {
  const found = foundAt(incident, history, scene).reduce((sum, life) => sum + history.lives.size[life], 0);
  return found + (beganLate(incident) ? history.laneAt(device, "unseen_allocated", row) || 0 : 0);
}

function survivorsOf(failing: Failing, subject: Subject, points: Point[], since: number | null): { bySite: Map<number, Survivors>; kept: number } {
  const { lives } = subject.history;
  const bySite = new Map<number, Survivors>();
  const k = points.length;
  let kept = 0;
  for (const life of failing.scene.blocks) {
    if (failing.scene.deferred.has(life)) continue;
    const ticket = lives.ticket[life];
    if (!isBirthKnown(subject.incident, subject.history, life)) continue;
    const j = pointsBefore(points, ticket);
    if (j < 2 || j > k - 2) continue;
    if (since !== null && ticket < since) {
      kept += lives.size[life];
      continue;
    }
    const site = lives.site[life];
    const sum = bySite.get(site) ?? { bytes: 0, blocks: 0, steps: new Set<number>(), oldest: life, least: Infinity, greatest: 0, live: 0 };
    bySite.set(site, sum);
    sum.bytes += lives.size[life];
    sum.blocks += 1;
    sum.steps.add(j);
    if (ticket < lives.ticket[sum.oldest]) sum.oldest = life;
    sum.least = Math.min(sum.least, lives.size[life]);
    sum.greatest = Math.max(sum.greatest, lives.size[life]);
  }
  for (const [site, sum] of bySite) if (sum.steps.size < kSurvivorStepsNeeded) bySite.delete(site);
  for (const life of failing.scene.blocks) {
    const sum = bySite.get(lives.site[life]);
    if (sum !== undefined && !failing.scene.deferred.has(life)) sum.live += lives.size[life];
  }
  return { bySite, kept };
}

function requestRepeated({ rows, row: f, device, operation }: Failing, subject: Subject, points: Point[]): boolean {
  const k = points.length;
  if (k < kBoundariesNeeded || operation.victim !== "pytorch") return false;
  const bySize = new Set(subject.incident.names.sites.filter((site) => site.size_bytes !== undefined).map((site) => site.site));
  const [site, size] = [rows.of("site", f), rows.of("size_bytes", f)];
  const withoutStack = site === 0 || site === null || bySize.has(site);
  for (let row = subject.history.rowOf(points[k - 1 - kComparedPairs].ticket) + 1; row < rows.count; ++row) {
    const ticket = rows.of("ticket", row)!;
    if (ticket > points[k - 1].ticket) return false;
    if (rows.kind(row) !== "block_alloc") continue;
    if (rows.of("device", row) !== device || rows.of("size_bytes", row) !== size) continue;
    if (rows.of("site", row) === site || (withoutStack && bySize.has(rows.of("site", row) ?? 0))) return true;
  }
  return false;
}

function retainedResult(failing: Failing, subject: Subject, points: Point[], basis: string, since: number | null): Result {
  const growth = subject.incident.receipt.evidence.growth!;
  const { lives } = subject.history;
  const compared = new Comparison();
  let retained = 0;
  let kept = 0;
  const unknown = unknownBirths(failing, subject);
  if (basis === "too_few" || basis === "lapped") {
    for (const life of failing.scene.blocks) {
      const after = points.length === 0 || lives.ticket[life] > points[0].ticket;
      if (after && isBirthKnown(subject.incident, subject.history, life) && !failing.scene.deferred.has(life)) retained += lives.size[life];
    }
    retained += failing.direct + unknown;
  } else {
    const survivors = survivorsOf(failing, subject, points, since);
    kept = survivors.kept;
    if (growingPairs(points) >= kGrowingPairsNeeded) for (const sum of survivors.bySite.values()) retained += sum.bytes;
    growth.survivors.forEach((told, index) => {
      const sum = survivors.bySite.get(Number(told.site));
      const own: Record<string, unknown> = {
        bytes: sum?.bytes,
        block_count: sum?.blocks,
        step_count: sum?.steps.size,
        clean_step_count: sum === undefined ? null : points.length - 3 - sum.steps.size,
        bytes_per_step: sum === undefined ? null : Math.floor(sum.bytes / sum.steps.size),
        oldest_ticket: sum === undefined ? null : lives.ticket[sum.oldest],
        oldest_step: sum === undefined ? null : lives.step[sum.oldest],
        least_block_bytes: sum?.least,
        greatest_block_bytes: sum?.greatest,
        live_bytes: sum?.live,
      };
      for (const [member, value] of Object.entries(own)) compared.same(`evidence.growth.survivors[${index}].${member}`, value, told[member]);
    });
    compared.same("evidence.growth.survivors: how many", survivors.bySite.size, growth.survivors.length);
  }
  compared.same("evidence.growth.retained_bytes", retained, growth.retained_bytes);
  compared.same("evidence.growth.unknown_birth_bytes", unknown, growth.unknown_birth_bytes);
  const { births_known_from_ticket } = subject.incident.outline.window;
  compared.same("evidence.growth.births_known_from_ticket", births_known_from_ticket, growth.births_known_from_ticket);
  compared.same("evidence.growth.retained_is_bound", basis !== "marked" && basis !== "certified", growth.retained_is_bound);
  compared.same("evidence.growth.kept_since_failure_bytes", kept, growth.kept_since_failure_bytes);
  return compared.result();
}

function repeatedResult(failing: Failing, subject: Subject, points: Point[]): Result {
  const repeated = requestRepeated(failing, subject, points);
  const from = points[points.length - 1 - kComparedPairs]?.ticket ?? -1;
  const { exact_first_ticket } = subject.incident.outline.window;
  if (!repeated && !failing.reach.wholeWindow && from < exact_first_ticket) return notRecomputed(failing.reach.why);
  const compared = new Comparison();
  compared.same("evidence.growth.request_repeated", repeated, subject.incident.receipt.evidence.growth!.request_repeated);
  return compared.result();
}

export async function growthChecks(failing: Failing, subject: Subject): Promise<Check[]> {
  const growth = subject.incident.receipt.evidence.growth!;
  const check = (id: string, title: string, from: string, result: Result): Check => ({ id: `growth.${id}`, group: "growth", title, from, result });
  const why = whyNotFound(failing, subject);
  const told = toldPoints(growth);
  const boundaries = boundariesOf(failing.rows, failing.device, failing.row);
  const since = gotOver(failing, boundaries);
  const repeated = (points: Point[]) =>
    check("repeated", "whether earlier steps asked for as much, and got it", "events", repeatedResult(failing, subject, points));
  if (why === null) {
    const own = await pointsOf(failing, subject.history, subject.pace);
    return [
      check("points", "the points of comparable steps", "the ends of steps and ranges in events", comparePoints(own, growth, failing, subject)),
      check(
        "retained",
        "what survived from step to step",
        "the page's history and its own points",
        retainedResult(failing, subject, own.list, own.basis, since),
      ),
      repeated(own.list),
    ];
  }
  const older = !failing.reach.wholeWindow;
  return [
    check("points", "which points of comparable steps there are", "the ends of steps and ranges in events", notRecomputed(why)),
    check("told_points", "the points that the receipt tells, where their events are in the page", "events", compareTold(failing, growth, subject)),
    check(
      "retained",
      "what survived between the points that the receipt tells",
      "the page's history, and the receipt's points",
      older && since === null && (subject.incident.receipt.evidence.failures as unknown[]).length > 1
        ? notRecomputed("an earlier failure is not in the page")
        : retainedResult(failing, subject, told, growth.basis, since),
    ),
    repeated(told),
  ];
}
