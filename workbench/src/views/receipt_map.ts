// SPDX-License-Identifier: Apache-2.0
//
// The extents of a receipt as segments to draw. The rule: what the receipt lists and nothing else; a free extent is classed by its own word and
// the request, as in the split.
import type { Count, Receipt } from "../data/receipt";
import type { Paint } from "./palette";

export interface MapExtent {
  offset: number; // bytes
  size: number; // bytes
  paint: Paint;
}

export interface MapSegment {
  segment: number;
  size: number; // bytes
  sizeClass: string;
  kind: string;
  extents: MapExtent[];
  freeBytes: number;
  largestHole: number; // bytes
}

function paintOf(state: string, compatibility: string, size: number, request: number): Paint {
  if (state === "live") return "active";
  if (state === "deferred") return "deferred";
  if (compatibility === "incompatible") return "incompatible";
  return size >= request ? "reusable" : "fragmented";
}

export function requestOf(receipt: Receipt): number {
  const { failure } = receipt.evidence;
  return failure === null ? 512 : Number(failure.request_bytes ?? failure.segment_request_bytes);
}

export function segmentsOf(receipt: Receipt): MapSegment[] {
  const { extents } = receipt.evidence;
  if (extents === null) return [];
  const at = (name: string) => extents.columns.indexOf(name);
  const [segment, offset, size, sizeClass, kind, state, compatibility] = [
    "segment",
    "offset_bytes",
    "size_bytes",
    "class",
    "kind",
    "state",
    "compatibility",
  ].map(at);
  const request = requestOf(receipt);
  const segments: MapSegment[] = [];
  for (const row of extents.rows) {
    const bytes = Number(row[size] as Count);
    const ordinal = Number(row[segment]);
    let of = segments[segments.length - 1];
    if (of === undefined || of.segment !== ordinal)
      segments.push(
        (of = { segment: ordinal, size: 0, sizeClass: String(row[sizeClass]), kind: String(row[kind]), extents: [], freeBytes: 0, largestHole: 0 }),
      );
    of.extents.push({ offset: Number(row[offset]), size: bytes, paint: paintOf(String(row[state]), String(row[compatibility]), bytes, request) });
    of.size = Number(row[offset]) + bytes;
    if (row[state] !== "free") continue;
    of.freeBytes += bytes;
    of.largestHole = Math.max(of.largestHole, bytes);
  }
  return segments;
}
