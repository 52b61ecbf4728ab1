// SPDX-License-Identifier: Apache-2.0
//
// What the memory map shows: ranges, scale, colours, and what is chosen on it. The rule: while the instant moves an address stays where it is,
// unless the window's segments lay in so many places that most of the map would be empty.
import { computed, signal } from "@preact/signals";
import { isBirthKnown } from "../history/before";
import { kCategories, LifeKind, type History } from "../history/history";
import { device, instant, life, ofIncident, reference, session, site } from "../session";
import { fittingScale, layOut, lifeAt, placeAt, rangeAt, union, type Layout, type Range } from "./map_layout";
import { window_px } from "./drawn_canvas";
import { kRow_px, type Picture } from "./map_draw";
import { painter, type ColourBy } from "./map_paint";
import { asked, freeSums, names, referenceScene, scene, stepsEnded } from "./map_scene";

// Rows of the map when all of it is shown: what the window has room for.
const kBeside_px = 540;
export const fitting_count = computed(() => Math.min(30, Math.max(8, Math.floor((window_px.value - kBeside_px) / kRow_px))));
const kEmptyMost = 3; // times what is held

const colourChosen = signal<ColourBy | null>(null);

// Where most is seen to be held: the peak, else the failure, else the end.
const greatestRow = computed((): number => {
  const open = session.value;
  if (open === null) return -1;
  return open.history.peakRow(device.value) ?? open.history.failureRow ?? open.history.rows - 1;
});

const usesTold = computed(() => {
  const open = session.value;
  if (open === null) return false;
  return kCategories.some((category) => category !== "unknown" && open.history.laneAt(device.value, `category:${category}`, greatestRow.value) > 0);
});

// By use where the job told of it; else one colour would be all there is.
export const colourBy = computed((): ColourBy => colourChosen.value ?? (usesTold.value ? "category" : "site"));

export function colourByNow(by: ColourBy): void {
  colourChosen.value = by;
}

export const zoom = ofIncident(1); // 1: all of it
export const row_px = signal(0);
export const withRequest = signal(true);
export const hole = ofIncident<number | null>(null); // place of a chosen free extent

function everHeld(history: History, of: number): Range[] {
  const { lives } = history;
  const ranges: Range[] = [];
  for (let at = 0; at < lives.count; at += 1) {
    if (lives.kind[at] === LifeKind.region && lives.device[at] === of && lives.place[at] >= 0)
      ranges.push({ place: lives.place[at], size: lives.size[at] });
  }
  return union(ranges);
}

const allRanges = computed(() => (session.value === null ? [] : everHeld(session.value.history, device.value)));

const totalSize = (ranges: Range[]) => ranges.reduce((sum, range) => sum + range.size, 0);

const heldRanges = computed(() => {
  const now = scene.value;
  if (now === null || session.value === null) return [];
  const { lives } = session.value.history;
  const regions = Array.from(now.regions, (region) => ({ place: lives.place[region], size: lives.size[region] }));
  return union([...now.segments.map(({ place, size }) => ({ place, size })), ...regions]);
});

// Of the window, not of the instant: an address must not lose its place on the way.
export const staysInPlace = computed(() => {
  const open = session.value;
  if (open === null) return false;
  const all_bytes = totalSize(allRanges.value);
  const peak = open.history.scene(device.value, greatestRow.value);
  return all_bytes > 0 && all_bytes <= kEmptyMost * (peak.segmentBytes + peak.candidateBytes + peak.directBytes);
});

const known = computed(() => (staysInPlace.value ? allRanges.value : heldRanges.value));

// Blocks of a window with losses may lie in no region that the page knows; they are drawn by themselves.
export const strays = computed((): Range[] => {
  if (scene.value === null || session.value === null) return [];
  const { place, size } = session.value.history.lives;
  const found: Range[] = [];
  for (const block of scene.value.blocks) {
    const at = rangeAt(known.value, place[block]);
    if (at < 0 || place[block] >= known.value[at].place + known.value[at].size) found.push({ place: place[block], size: size[block] });
  }
  return found;
});

const ranges = computed(() => (strays.value.length === 0 ? known.value : union([...known.value, ...strays.value])));

export const nothingHeld = computed(() => ranges.value.length === 0);

const fitting = computed(() => (row_px.value <= 0 ? 1 : fittingScale(ranges.value, row_px.value, fitting_count.value)));

// No finer than a granule of PyTorch's allocator a pixel, nor longer than a browser can scroll.
const kFinest_bytesPerPx = 64;
const kMostRows_count = 300_000;

export const zoomMost = computed(() => {
  if (row_px.value <= 0 || ranges.value.length === 0) return 1;
  const finest = Math.max(kFinest_bytesPerPx, totalSize(ranges.value) / (row_px.value * kMostRows_count));
  return Math.max(1, fitting.value / finest);
});

export const layout = computed((): Layout | null => {
  if (row_px.value <= 0 || ranges.value.length === 0) return null;
  return layOut(ranges.value, row_px.value, fitting.value / Math.min(zoom.value, zoomMost.value));
});

const gone = computed(() => {
  const before = referenceScene.value;
  const now = scene.value;
  if (before === null || now === null || session.value === null) return new Int32Array(0);
  const { birth, deferredUntil } = session.value.history.lives;
  return before.blocks.filter((one) => (now.instant >= before.instant ? deferredUntil[one] <= now.instant : birth[one] > now.instant));
});

export const picture = computed((): Picture | null => {
  const open = session.value;
  if (open === null || scene.value === null || layout.value === null || freeSums.value === null) return null;
  return {
    layout: layout.value,
    scene: scene.value,
    lives: open.history.lives,
    free: freeSums.value,
    painter: painter(colourBy.value, open.history, instant.value, stepsEnded.value, names.value, (life) =>
      isBirthKnown(open.incident, open.history, life),
    ),
    site: site.value,
    gone: gone.value,
    changedSince: reference.value,
    request_bytes: withRequest.value ? (asked.value?.size_bytes ?? null) : null,
  };
});

export type Spot = { kind: "block"; life: number } | { kind: "hole"; extent: number } | null;

// What lies at a place: a block, or a free extent.
export function spotAt(picture_: Picture, place: number): Spot {
  const { scene: now, lives } = picture_;
  const at = lifeAt(now.blocks, lives.place, place);
  const found = at < 0 ? -1 : now.blocks[at];
  if (found >= 0 && place < lives.place[found] + lives.size[found]) return { kind: "block", life: found };
  const extent = now.free.findIndex((free) => place >= free.place && place < free.place + free.size);
  return extent < 0 ? null : { kind: "hole", extent };
}

export function spotAtLine(picture_: Picture, line_px: number): Spot {
  const place = placeAt(picture_.layout, line_px);
  return place === null ? null : spotAt(picture_, place);
}

export function choose(spot: Spot): void {
  life.value = spot?.kind === "block" ? spot.life : null;
  hole.value = spot?.kind === "hole" && scene.value !== null ? scene.value.free[spot.extent].place : null;
}

// What is chosen, as far as it is there at the instant.
export const chosen = computed((): Spot => {
  const now = scene.value;
  if (now === null) return null;
  if (hole.value !== null) {
    const extent = now.free.findIndex((free) => hole.value! >= free.place && hole.value! < free.place + free.size);
    return extent < 0 ? null : { kind: "hole", extent };
  }
  return life.value !== null && session.value !== null && life.value < session.value.history.lives.count ? { kind: "block", life: life.value } : null;
});

export function rangeOf(picture_: Picture, spot: Exclude<Spot, null>): Range {
  if (spot.kind === "hole") return picture_.scene.free[spot.extent];
  return { place: picture_.lives.place[spot.life], size: picture_.lives.size[spot.life] };
}

// The next block by address from what is chosen.
export function walk(picture_: Picture, direction: 1 | -1): void {
  const { blocks } = picture_.scene;
  if (blocks.length === 0) return;
  const spot = chosen.value;
  if (spot === null) return choose({ kind: "block", life: blocks[direction === 1 ? 0 : blocks.length - 1] });
  const { place } = rangeOf(picture_, spot);
  const at = lifeAt(blocks, picture_.lives.place, place);
  const exact = at >= 0 && picture_.lives.place[blocks[at]] === place;
  const to = direction === 1 ? at + 1 : exact ? at - 1 : at;
  choose({ kind: "block", life: blocks[Math.min(blocks.length - 1, Math.max(0, to))] });
}
