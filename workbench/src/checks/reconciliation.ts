// SPDX-License-Identifier: Apache-2.0
//
// How well the device's answers agree with each other (VERDICT.md §3, "residual"). The rule: of each answer, what others and contexts hold lies
// between two bounds, apart by the driver's rounding and the slack of its pools; answers mismatch when these intervals do not meet.
import { Comparison, notRecomputed, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { LiveObjects, objectRows } from "./objects";
import { kDriverPage_bytes } from "./thresholds";

const kPage = Number(kDriverPage_bytes);
const kRounded = new Set(["device", "array", "async"]);

const roundingOf = (size: number) => (size % kPage === 0 ? 0 : kPage - (size % kPage));

export async function reconciliationResult(failing: Failing, subject: Subject): Promise<Result> {
  const { rows, history, pace } = subject;
  const told = subject.incident.receipt.evidence.reconciliation as Record<string, unknown>;
  if (!failing.reach.wholeWindow) return notRecomputed(failing.reach.why);
  const { device } = failing;
  const sums = { rounding: 0, asked: 0, taken: 0, most: 0 };
  const objects = new LiveObjects(subject.incident, kRounded, (object, sign) => {
    if (object.device !== device) return;
    if (object.kind === "async") {
      sums.asked += sign * object.size;
      sums.taken += sign * (object.size + roundingOf(object.size));
    } else if (!object.imported) {
      sums.rounding += sign * roundingOf(object.size);
    }
  });
  sums.most = sums.taken;
  let before: { low: number; high: number } | null = null;
  let observed = 0;
  let mismatched = 0;
  let largest = 0;
  let looked = 0;
  for (const row of objectRows(rows, "mem_info")) {
    if (row > failing.row) break;
    if ((++looked & 4095) === 0) await pace.breathe();
    if (rows.kind(row) !== "mem_info") {
      objects.step(rows, row);
      sums.most = Math.max(sums.most, sums.taken);
      continue;
    }
    if (rows.of("device", row) !== device || !rows.isObservation(row)) continue;
    const total = rows.of("device_total_bytes", row)!;
    const high = total - rows.of("device_free_bytes", row)! - history.laneAt(device, "reserved", row) - history.laneAt(device, "own_outside", row);
    const low = high - sums.rounding - (sums.most - sums.asked);
    const apart = before === null ? 0 : Math.max(0, low - before.high, before.low - high);
    observed += 1;
    if (apart > 0) mismatched += 1;
    largest = Math.max(largest, apart);
    before = { low, high };
  }
  const compared = new Comparison();
  compared.same("evidence.reconciliation.observation_count", observed, told.observation_count);
  compared.same("evidence.reconciliation.mismatch_count", mismatched, told.mismatch_count);
  compared.same("evidence.reconciliation.largest_difference_bytes", observed < 2 ? null : largest, told.largest_difference_bytes);
  return compared.result();
}
