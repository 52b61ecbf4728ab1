// SPDX-License-Identifier: Apache-2.0
//
// Whether a free extent could serve a request (VERDICT.md §3). The rule: what nobody told about stream or pool decides nothing.
import type { Incident } from "../data/incident";
import type { Extent, History, Scene, Segment } from "./history";

export type Compatibility = "compatible" | "incompatible" | "unknown";
export type FreeClass = "reusable" | "fragmented" | "incompatible";

const kSmallRequest_bytes = 2 ** 20;
const kUnknownPool = 65535;
const kNearestTapOom_tickets = 64;

export interface Asked {
  size_bytes: number;
  stream: number | null;
  pool: number | null;
  privatePools: boolean; // the failing operation has given back every other wholly free segment
}

// What the incident's request asks of a device, as it is known at an instant. Null without an incident, and on a device that was asked for
// nothing: there every free extent is reusable.
export function askedAt(incident: Incident, history: History, device: number, instant: number): Asked | null {
  const { failure } = incident.receipt.evidence;
  if (failure === null || failure.device !== device) return null;
  const size_bytes = Number(failure.request_bytes ?? failure.segment_request_bytes);
  if (instant !== history.failureRow || history.failureRow === null) return { size_bytes, stream: null, pool: null, privatePools: false };
  return { size_bytes, ...toldByTap(incident, history.failureRow) };
}

function toldByTap(incident: Incident, row: number): { stream: number | null; pool: number | null; privatePools: boolean } {
  const { events } = incident;
  const kind = events.column("kind");
  const is = (at: number, word: string) => events.words.kind[kind.at(at) ?? -1] === word;
  if (!is(row, "block_oom")) return { stream: null, pool: null, privatePools: false };
  const capturing = ((events.column("flags").at(row) ?? 0) & 2) !== 0;
  const [thread, device, ticket] = ["thread", "device", "ticket"].map((name) => events.column(name));
  const has = events.has("stream") && events.has("pool");
  for (let at = row - 1; at >= 0 && (ticket.at(row) ?? 0) - (ticket.at(at) ?? 0) <= kNearestTapOom_tickets; at -= 1) {
    if (thread.at(at) !== thread.at(row) || device.at(at) !== device.at(row)) continue;
    if (is(at, "block_oom")) break;
    if (!is(at, "tap_oom")) continue;
    const pool = has ? events.column("pool").at(at) : null;
    return { stream: has ? events.column("stream").at(at) : null, pool: pool === kUnknownPool ? null : pool, privatePools: !capturing };
  }
  return { stream: null, pool: null, privatePools: !capturing };
}

export function compatibility(extent: Extent, segment: Segment, asked: Asked): Compatibility {
  const wanted = asked.size_bytes <= kSmallRequest_bytes ? "small" : "large";
  const differs = (a: number | null, b: number | null) => a !== null && b !== null && a !== b;
  if (segment.sizeClass !== "unknown" && segment.sizeClass !== wanted) return "incompatible";
  if (differs(segment.stream, asked.stream) || differs(segment.pool, asked.pool)) return "incompatible";
  if (asked.privatePools && segment.kind === "native" && segment.pool === null && extent.size === segment.size) return "incompatible";
  const known = segment.sizeClass !== "unknown" && segment.stream !== null && asked.stream !== null && segment.pool !== null && asked.pool !== null;
  return known ? "compatible" : "unknown";
}

export function freeClass(extent: Extent, segment: Segment, asked: Asked | null): FreeClass {
  if (asked === null) return "reusable";
  if (compatibility(extent, segment, asked) === "incompatible") return "incompatible";
  return extent.size >= asked.size_bytes ? "reusable" : "fragmented";
}

export interface FreeSums {
  reusable: number;
  fragmented: number;
  incompatible: number;
  largest: number | null; // index into scene.free of the largest extent that is not incompatible
  classes: Uint8Array; // of scene.free: into kFreeClasses
}

export const kFreeClasses: FreeClass[] = ["reusable", "fragmented", "incompatible"];

export function sumFree(scene: Scene, asked: Asked | null): FreeSums {
  const sums: FreeSums = { reusable: 0, fragmented: 0, incompatible: 0, largest: null, classes: new Uint8Array(scene.free.length) };
  scene.free.forEach((extent, at) => {
    const of = freeClass(extent, scene.segments[extent.segment], asked);
    sums[of] += extent.size;
    sums.classes[at] = kFreeClasses.indexOf(of);
    if (of !== "incompatible" && (sums.largest === null || extent.size > scene.free[sums.largest].size)) sums.largest = at;
  });
  return sums;
}
