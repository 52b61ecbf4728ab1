// SPDX-License-Identifier: Apache-2.0
//
// Memory from before the recording began (VERDICT.md §2). The rule: what the allocator's last report states beyond all blocks of the page has no
// place and no site, and before the first report nobody knows how much it is; a block that was found there has both, but nobody knows since when.
import type { Incident } from "../data/incident";
import type { Column } from "../data/table";
import type { History, Scene } from "./history";

export const beganLate = (incident: Incident) => incident.receipt.capture.start_mode === "late";

// Whether an answer of the device tells what is outside of PyTorch's allocator: with the totals that the allocator had reported by then, and after
// a late start not without.
export const tellsOutside = (late: boolean, reserved: Column, row: number) => !late || reserved.filled(row);

// Bytes in no block of the page; null: not known.
export function unseenAt(incident: Incident, history: History, device: number, row: number): number | null {
  if (!beganLate(incident)) return 0;
  const bytes = history.laneAt(device, "in_use", row) - history.laneAt(device, "active", row);
  return Number.isNaN(bytes) ? null : bytes;
}

export function isBirthKnown(incident: Incident, history: History, life: number): boolean {
  return !(history.lives.ticket[life] < incident.outline.window.births_known_from_ticket);
}

// Live blocks of an unknown birth.
export function foundAt(incident: Incident, history: History, scene: Scene): number[] {
  return [...scene.blocks].filter((life) => !scene.deferred.has(life) && !isBirthKnown(incident, history, life));
}
