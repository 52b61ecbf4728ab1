// SPDX-License-Identifier: Apache-2.0
//
// How well the device's answers agree with each other (VERDICT.md §3, "residual"). The rule: of each answer, what others and contexts hold lies
// between two bounds, apart by the driver's rounding and the slack of its pools; answers mismatch when these intervals do not meet. Where something
// was given back that nobody saw come, answers before and after it are not compared, nor any until the allocator's next report.
import { Comparison, notRecomputed, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { LiveObjects, objectRows } from "./objects";
import { kHostFrees } from "./operation";
import { kCapturing, kNested, type Rows } from "./rows";
import { kDriverPage_bytes } from "./thresholds";

const kPage = Number(kDriverPage_bytes);
const kRounded = new Set(["device", "array", "async"]);
const kFreed = new Set("device managed host array async vmm_handle mapping reservation pool import multicast context graph_node".split(" "));

// Whether it is known what the process holds.
class Doubt {
  private known: boolean;
  private next = 0; // row that was not looked at for a report

  constructor(
    private readonly rows: Rows,
    private readonly device: number,
    late: boolean,
  ) {
    this.known = !late;
  }

  // From the row on, until the next report.
  begin(row: number) {
    this.known = false;
    this.next = row + 1;
  }

  knownAt(row: number): boolean {
    for (; !this.known && this.next < row; ++this.next) {
      this.known = this.rows.of("device", this.next) === this.device && this.rows.isReport(this.next);
    }
    return this.known;
  }
}

// Before it is taken up: whether the row ends what nobody saw come, and is not of the host.
function freesUnknown(rows: Rows, row: number, objects: LiveObjects): boolean {
  if (rows.kind(row) !== "free" || rows.has(row, kNested | kCapturing)) return false;
  const ticket = rows.of("allocation", row);
  return (ticket === null || !objects.live.has(ticket)) && !kHostFrees.has(rows.op(row));
}

const roundingOf = (size: number) => (size % kPage === 0 ? 0 : kPage - (size % kPage));

export async function reconciliationResult(failing: Failing, subject: Subject): Promise<Result> {
  const { rows, history, pace } = subject;
  const told = subject.incident.receipt.evidence.reconciliation as Record<string, unknown>;
  if (!failing.reach.wholeWindow) return notRecomputed(failing.reach.why);
  const { device } = failing;
  const sums = { rounding: 0, asked: 0, taken: 0, most: 0 };
  const objects = new LiveObjects(subject.incident, kFreed, (object, sign) => {
    if (object.device !== device || !kRounded.has(object.kind)) return;
    if (object.kind === "async") {
      sums.asked += sign * object.size;
      sums.taken += sign * (object.size + roundingOf(object.size));
    } else if (!object.imported) {
      sums.rounding += sign * roundingOf(object.size);
    }
  });
  sums.most = sums.taken;
  const doubt = new Doubt(rows, device, subject.incident.receipt.capture.start_mode === "late");
  let before: { low: number; high: number } | null = null;
  let observed = 0;
  let compared = 0;
  let mismatched = 0;
  let largest = 0;
  let looked = 0;
  for (const row of objectRows(rows, "mem_info")) {
    if (row > failing.row) break;
    if ((++looked & 4095) === 0) await pace.breathe();
    if (rows.kind(row) !== "mem_info") {
      if (freesUnknown(rows, row, objects)) {
        doubt.begin(row);
        before = null;
      }
      objects.step(rows, row);
      sums.most = Math.max(sums.most, sums.taken);
      continue;
    }
    if (rows.of("device", row) !== device || !rows.isObservation(row)) continue;
    observed += 1;
    if (!doubt.knownAt(row) || !rows.tellsOutside(row)) continue;
    const total = rows.of("device_total_bytes", row)!;
    const high = total - rows.of("device_free_bytes", row)! - history.laneAt(device, "reserved", row) - history.laneAt(device, "own_outside", row);
    const low = high - sums.rounding - (sums.most - sums.asked);
    const apart = before === null ? 0 : Math.max(0, low - before.high, before.low - high);
    if (before !== null) compared += 1;
    if (apart > 0) mismatched += 1;
    largest = Math.max(largest, apart);
    before = { low, high };
  }
  const comparison = new Comparison();
  comparison.same("evidence.reconciliation.observation_count", observed, told.observation_count);
  comparison.same("evidence.reconciliation.mismatch_count", mismatched, told.mismatch_count);
  comparison.same("evidence.reconciliation.largest_difference_bytes", compared === 0 ? null : largest, told.largest_difference_bytes);
  return comparison.result();
}
