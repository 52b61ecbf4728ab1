// SPDX-License-Identifier: Apache-2.0
//
// The failing instant as the page finds it in the events: what was asked for, by whom, and the state of the device then. The rule: which failure
// is meant is the receipt's choice (its ticket); everything else is from `begin` and `events`.
import type { Asked } from "../history/compatibility";
import type { Scene } from "../history/history";
import type { Subject } from "./check";
import { operationOf, type Operation } from "./operation";
import { reachOf, kCapturing, type Reach, type Rows } from "./rows";
import { extentsOf, sumsOf, type ExtentSums, type PlacedExtent } from "./scene_extents";
import { kTapReach_tickets } from "./thresholds";

export interface Failing {
  row: number;
  device: number;
  ticket: number;
  rows: Rows;
  reach: Reach;
  operation: Operation;
  scene: Scene;
  asked: Asked;
  extents: PlacedExtent[];
  sums: ExtentSums;
  // Totals of the allocator; direct bytes are in both, and what was a candidate too where nothing is cached.
  reserved: number;
  allocated: number;
  active: number;
  direct: number;
  unseen: number;
  deferred: number | null;
}

const kUnknownPool = 65535;

// Null without an incident in evidence, and when its event is not in the page; then `why` says so.
export function failingOf(subject: Subject): Failing | { why: string } {
  const { incident, history, rows } = subject;
  const told = incident.receipt.evidence.failure;
  if (told === null) return { why: "there is no incident in evidence" };
  const row = history.failureRow;
  if (row === null || String(rows.of("ticket", row)) !== String(told.ticket)) return { why: "the failure's own event is not in the page" };
  const device = rows.of("device", row);
  const request = rows.of("size_bytes", row);
  if (device === null || request === null) return { why: "the failure's own event tells no device or no size that a number can hold" };
  const operation = operationOf(rows, row);
  const tap = operation.tapOom;
  const reach = reachOf(incident);
  const scene = history.scene(device, row);
  const near = rows.of("ticket", row)! - incident.outline.window.exact_first_ticket <= kTapReach_tickets;
  if (tap === null && operation.victim === "pytorch" && scene.tapSeen && near && !reach.wholeWindow)
    return { why: "whether the allocator's trace told of the failure is not in the page" };
  const pool = tap !== null && incident.events.has("pool") ? incident.events.column("pool").at(tap) : null;
  const asked: Asked = {
    size_bytes: request,
    stream: tap !== null && incident.events.has("stream") ? incident.events.column("stream").at(tap) : null,
    pool: pool === kUnknownPool ? null : pool,
    privatePools: operation.victim === "pytorch" && !rows.has(row, kCapturing),
  };
  const extents = extentsOf(history, scene, asked);
  const sums = sumsOf(extents, request);
  const direct = scene.directBytes + (operation.victim === "pytorch_uncached" ? scene.candidateBytes : 0);
  const deferred = scene.tapSeen ? history.laneAt(device, "deferred", row) : null;
  const reported = (name: "allocated_reported" | "reserved_reported", otherwise: number) => {
    const value = history.laneAt(device, name, row);
    return (Number.isNaN(value) ? otherwise : value) + direct;
  };
  const reserved = reported("reserved_reported", scene.segmentBytes);
  const allocated = reported("allocated_reported", scene.activeBytes - (deferred ?? 0));
  const active = allocated + (deferred ?? 0);
  const free = sums.reusable + sums.fragmented + sums.incompatible;
  sums.fragmented += Math.max(0, reserved - active - free); // of segments that nobody saw
  const unseen = Math.max(0, reserved - direct - scene.segmentBytes);
  return {
    row,
    device,
    ticket: rows.of("ticket", row)!,
    rows,
    reach,
    operation,
    scene,
    asked,
    extents,
    sums,
    reserved,
    allocated,
    active,
    direct,
    unseen,
    deferred,
  };
}
