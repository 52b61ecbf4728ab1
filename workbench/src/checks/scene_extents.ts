// SPDX-License-Identifier: Apache-2.0
//
// The extents of one device at one instant (VERDICT.md §3), and what they come to for a request. The rule: made by walking the blocks of each
// segment by place; what no live or deferred block covers is free.
import { compatibility, type Asked, type Compatibility } from "../history/compatibility";
import type { History, Scene, Segment } from "../history/history";
import { kLargeSegment_bytes, kSmallRequest_bytes, kSmallSegment_bytes } from "./thresholds";

export interface PlacedExtent {
  segment: Segment;
  offset: number; // bytes
  size: number; // bytes
  state: "live" | "deferred" | "free";
  compatibility: Compatibility | "in_use";
  life: number; // −1 of what is free
}

export function extentsOf(history: History, scene: Scene, asked: Asked): PlacedExtent[] {
  const { lives } = history;
  const extents: PlacedExtent[] = [];
  let next = 0;
  const blocks = [...scene.blocks].sort((a, b) => lives.place[a] - lives.place[b] || Number(scene.deferred.has(a)) - Number(scene.deferred.has(b)));
  for (const segment of scene.segments) {
    const end = segment.place + segment.size;
    let cursor = segment.place;
    const free = (to: number) => {
      if (to > cursor)
        extents.push({ segment, offset: cursor - segment.place, size: to - cursor, state: "free", compatibility: "unknown", life: -1 });
    };
    while (next < blocks.length && lives.place[blocks[next]] < segment.place) ++next;
    for (; next < blocks.length && lives.place[blocks[next]] < end; ++next) {
      const life = blocks[next];
      const from = Math.max(cursor, lives.place[life]);
      const to = Math.min(end, lives.place[life] + lives.size[life]);
      if (from >= to) continue;
      free(from);
      extents.push({
        segment,
        offset: from - segment.place,
        size: to - from,
        state: scene.deferred.has(life) ? "deferred" : "live",
        compatibility: "in_use",
        life,
      });
      cursor = to;
    }
    free(end);
  }
  for (const extent of extents) {
    if (extent.state !== "free") continue;
    const place = extent.segment.place + extent.offset;
    extent.compatibility = compatibility({ segment: 0, place, size: extent.size }, extent.segment, asked);
  }
  return extents;
}

export interface ExtentSums {
  reusable: number;
  fragmented: number;
  incompatible: number;
  largest: number;
  largestCompatible: number;
  remappable: number;
  releasable: number;
}

// Whole granules, aligned to the segment's begin, inside an extent.
function granules(extent: PlacedExtent): number {
  const { granule } = extent.segment;
  const whole = Math.floor((extent.offset + extent.size) / granule) - Math.ceil(extent.offset / granule);
  return Math.max(0, whole) * granule;
}

export function sumsOf(extents: readonly PlacedExtent[], request: number): ExtentSums {
  const sums: ExtentSums = { reusable: 0, fragmented: 0, incompatible: 0, largest: 0, largestCompatible: 0, remappable: 0, releasable: 0 };
  const page = Number(request <= Number(kSmallRequest_bytes) ? kSmallSegment_bytes : kLargeSegment_bytes);
  for (const extent of extents) {
    if (extent.state !== "free") continue;
    const native = extent.segment.kind === "native";
    sums.releasable += native ? (extent.size === extent.segment.size ? extent.size : 0) : granules(extent);
    if (extent.compatibility === "incompatible") {
      sums.incompatible += extent.size;
      continue;
    }
    sums[extent.size >= request ? "reusable" : "fragmented"] += extent.size;
    sums.largest = Math.max(sums.largest, extent.size);
    if (extent.compatibility === "compatible") sums.largestCompatible = Math.max(sums.largestCompatible, extent.size);
    sums.remappable += native ? Math.floor(extent.size / page) * page : granules(extent);
  }
  return sums;
}
