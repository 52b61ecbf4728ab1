// SPDX-License-Identifier: Apache-2.0
//
// How the card is split at any instant, as the page computes it from its history (VERDICT.md §3, balance). The rule: what no answer of the device
// has told by then is not known; the parts add up to the card because free memory is what is left.
import type { Incident } from "../data/incident";
import { beganLate, tellsOutside, unseenAt } from "../history/before";
import { askedAt, sumFree } from "../history/compatibility";
import type { History } from "../history/history";
import type { Split } from "./split";

const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

export function isObservation(incident: Incident, row: number, device: number): boolean {
  const { events } = incident;
  if (row < 0 || row >= events.rows || events.column("device").number(row) !== device) return false;
  return events.column("device_total_bytes").filled(row) && events.column("device_free_bytes").filled(row);
}

// Of an observation: the allocator had not reported yet, and how much of the card it held nobody knows (VERDICT.md §3).
export const isUntold = (incident: Incident, row: number) => !tellsOutside(beganLate(incident), incident.events.column("reserved_bytes"), row);

// Where nothing is cached, what may be a segment is a tensor of its own at the failing instant.
function isUncachedFailure(incident: Incident, history: History, device: number, row: number): boolean {
  const { failure } = incident.receipt.evidence;
  return row === history.failureRow && failure?.device === device && failure.allocator === "pytorch_uncached";
}

export function splitAt(incident: Incident, history: History, device: number, row: number): Split {
  const scene = history.scene(device, row);
  const sums = sumFree(scene, askedAt(incident, history, device, row));
  const active = scene.activeBytes + scene.directBytes + (isUncachedFailure(incident, history, device, row) ? scene.candidateBytes : 0);
  const held = known(history.laneAt(device, "reserved", row)) ?? active + scene.segmentBytes - scene.activeBytes;
  const before = unseenAt(incident, history, device, row);
  const slack = held - active - (before ?? 0);
  // Where more is unseen than segments that nobody saw have room for, some of the free extents are taken.
  const holesKnown = before === null || before === 0 || slack >= sums.reusable + sums.incompatible;
  const libraries = [...history.outsideByLibrary(device, row)].map(([library, bytes]) => ({ library, bytes }));
  const total = known(history.laneAt(device, "total", row));
  const observed = isObservation(incident, row, device) && !isUntold(incident, row);
  return {
    source: total === null ? "unknown" : observed ? "observed" : "carried",
    total_bytes: total,
    active_bytes: active,
    before_bytes: before,
    reusable_free_bytes: holesKnown ? sums.reusable : null,
    fragmented_free_bytes: holesKnown ? slack - sums.reusable - sums.incompatible : slack,
    incompatible_free_bytes: holesKnown ? sums.incompatible : null,
    libraries,
    others_bytes: known(history.laneAt(device, "other_processes", row)),
    unattributed_bytes: known(history.laneAt(device, "unattributed", row)),
    free_bytes: known(history.laneAt(device, "expected_free", row)),
  };
}
