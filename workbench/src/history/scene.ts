// SPDX-License-Identifier: Apache-2.0
//
// One device at one instant. The rule: what is live is found by looking at births and deaths; nothing is replayed.
import { type Extent, type Lives, LifeKind, type Scene, type Segment } from "./history";
import type { Version } from "./versions";

const kSmallSegment_bytes = 2 * 2 ** 20;
const kLargeSegment_bytes = 20 * 2 ** 20;

let scratch = new Int32Array(0); // so that looking at one instant after another costs no memory

// Births rise with the lives, so the first younger one ends the search.
export function liveOf(lives: Lives, kind: number, device: number, instant: number, until: Int32Array): Int32Array {
  const { count, birth } = lives;
  if (scratch.length < count) scratch = new Int32Array(count);
  const found = scratch;
  let length = 0;
  for (let life = 0; life < count; ++life) {
    if (birth[life] > instant) break;
    if (until[life] > instant && lives.kind[life] === kind && lives.device[life] === device) found[length++] = life;
  }
  return found.slice(0, length);
}

const kGranule_bytes = 512;
let keys = new Float64Array(0);

// Place and number in one key, where a double can hold both: sorting numbers is many times faster than comparing by a function.
function byPlace(found: Int32Array, place: Float64Array): Int32Array {
  const unit = 2 ** Math.ceil(Math.log2(found.length + 1));
  if (keys.length < found.length) keys = new Float64Array(scratch.length);
  const sorted = keys.subarray(0, found.length);
  for (let at = 0; at < found.length; ++at) {
    sorted[at] = (place[found[at]] / kGranule_bytes) * unit + at;
    if (!Number.isSafeInteger(sorted[at])) return found.sort((a, b) => place[a] - place[b] || a - b);
  }
  sorted.sort();
  return Int32Array.from(sorted, (key) => found[key % unit]);
}

function sizeClass(it: Version): Segment["sizeClass"] {
  if (it.large) return "large";
  if (!it.expandable) return it.size === kSmallSegment_bytes ? "small" : "large";
  if (it.granule === kSmallSegment_bytes) return "small";
  return it.granule === kLargeSegment_bytes ? "large" : "unknown";
}

const told = (ordinal: number) => (ordinal < 0 ? null : ordinal);

function segmentOf(it: Version, ordinal: number): Segment {
  return {
    place: it.place,
    size: it.size,
    ticket: it.ticket,
    kind: it.expandable ? "expandable" : "native",
    granule: it.granule,
    sizeClass: sizeClass(it),
    ordinal,
    stream: told(it.stream),
    pool: told(it.pool),
  };
}

// The ranges of each segment that nothing covers.
function freeOf(segments: readonly Segment[], blocks: Int32Array, lives: Lives): Extent[] {
  const free: Extent[] = [];
  let next = 0;
  segments.forEach((segment, index) => {
    const end = segment.place + segment.size;
    while (next < blocks.length && lives.place[blocks[next]] < segment.place) next += 1;
    let at = segment.place;
    for (; next < blocks.length && lives.place[blocks[next]] < end; ++next) {
      const place = lives.place[blocks[next]];
      if (place > at) free.push({ segment: index, place: at, size: place - at });
      at = Math.max(at, Math.min(end, place + lives.size[blocks[next]]));
    }
    if (at < end) free.push({ segment: index, place: at, size: end - at });
  });
  return free;
}

export function sceneAt(lives: Lives, versions: readonly Version[], device: number, instant: number, tapSeen: boolean): Scene {
  const blocks = byPlace(liveOf(lives, LifeKind.block, device, instant, lives.deferredUntil), lives.place);
  const deferred = new Set<number>();
  let activeBytes = 0;
  for (const life of blocks) {
    activeBytes += lives.size[life];
    if (lives.death[life] <= instant) deferred.add(life);
  }
  const here = versions.filter((it) => it.device === device && it.since <= instant && instant < it.until).sort((a, b) => a.place - b.place);
  const segments = here.filter((it) => it.state === "segment").map(segmentOf);
  const bytes = (state: Version["state"]) => here.reduce((sum, it) => sum + (it.state === state ? it.size : 0), 0);
  return {
    device,
    instant,
    blocks,
    deferred,
    segments,
    free: freeOf(segments, blocks, lives),
    regions: Int32Array.from(here.filter((it) => it.state === "candidate" || it.state === "direct"), (it) => it.life),
    activeBytes,
    segmentBytes: bytes("segment"),
    candidateBytes: bytes("candidate"),
    directBytes: bytes("direct"),
    tapSeen,
  };
}
