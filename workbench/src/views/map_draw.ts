// SPDX-License-Identifier: Apache-2.0
//
// Draws the memory map. The rule: only rows that are visible, and no object is made for a block: what may be there by thousands goes through the
// raster, the rest is drawn over it.
import type { FreeSums } from "../history/compatibility";
import type { Lives, Scene } from "../history/history";
import { sizeText } from "../parts/units";
import { canvasFont } from "./drawn_canvas";
import { eachPiece, lifeAt, pxOf, rangeAt, type Layout, type Range } from "./map_layout";
import type { Painter } from "./map_paint";
import { Overlays, packed, Raster } from "./map_raster";
import { colour, fillRect, patternOf, type Paint } from "./palette";

export const kRow_px = 26;
const kBar_px = 20; // of the row; the rest is room between rows
const kHole_px = 9; // holes are lower than blocks, so that they are told apart without colours
const kRequest_px = 4; // in the room below the row
const kLabel_px = 62; // narrower blocks have no text
const kPattern_px = 5; // narrower ones no pattern
const kFree: Paint[] = ["reusable", "fragmented", "incompatible"]; // as kFreeClasses

const kPale = 0.22; // of blocks of other sites than the highlighted one
const kRegions: Painter = { of: () => 0, classes: [{ text: "", name: "segment", pattern: "back", colour: () => colour("segment") }] };

export interface Picture {
  layout: Layout;
  scene: Scene;
  lives: Lives;
  free: FreeSums;
  painter: Painter;
  site: number | null; // others are drawn pale
  gone: Int32Array; // lives that the reference had
  changedSince: number | null; // row of the reference
  request_bytes: number | null; // drawn at the largest hole that could serve it
}

let raster: Raster | null = null; // made with the first picture
const overlays = new Overlays();
let packedColours = new Uint32Array(64);

interface Seen {
  top_px: number; // of the first row drawn
  first: number; // row
  last: number;
}

export function stretch(layout: Layout, range: Range): { from_px: number; to_px: number } | null {
  const at = rangeAt(layout.ranges, range.place);
  if (at < 0 || range.place >= layout.ranges[at].place + layout.ranges[at].size) return null;
  const from_px = pxOf(layout, at, range.place);
  return { from_px, to_px: Math.min(pxOf(layout, at, range.place + range.size), layout.start_px[at] + layout.width_px[at]) };
}

function eachSeen(picture: Picture, seen: Seen, range: Range, visit: (x: number, y: number, width: number, first: boolean) => void): void {
  const found = stretch(picture.layout, range);
  if (found === null) return;
  eachPiece(picture.layout, found.from_px, found.to_px, (row, x, width, first) => {
    if (row >= seen.first && row <= seen.last) visit(x, row * kRow_px - seen.top_px, width, first);
  });
}

function drawGround(context: CanvasRenderingContext2D, picture: Picture, seen: Seen): void {
  const { layout, scene } = picture;
  // Room that no segment holds now.
  context.fillStyle = colour("line");
  for (const range of layout.ranges) eachSeen(picture, seen, range, (x, y, width) => context.fillRect(x, y + kBar_px - 3, width, 2));
  context.fillStyle = colour("quiet");
  for (const segment of scene.segments) eachSeen(picture, seen, segment, (x, y, width) => context.fillRect(x - 1, y - 1, width + 2, kBar_px + 2));
  context.fillStyle = colour("card");
  for (const segment of scene.segments) eachSeen(picture, seen, segment, (x, y, width) => context.fillRect(x, y, width, kBar_px));
}

function addHoles(picture: Picture, seen: Seen): void {
  const { scene, free } = picture;
  const colours = kFree.map((paint) => packed(colour(paint), 1));
  let of = 0;
  const add = (x: number, y: number, width: number) => {
    raster!.hole((y + seen.top_px) / kRow_px - seen.first, x, width, colours[of]);
    if (width >= kPattern_px) overlays.add(patternOf(kFree[of]), x, y + kBar_px - kHole_px, width, kHole_px);
  };
  for (let at = 0; at < scene.free.length; at += 1) {
    of = free.classes[at];
    eachSeen(picture, seen, scene.free[at], add);
  }
}

// Each class has two colours: as it is, and pale.
function colours(painter: Painter): Uint32Array {
  if (packedColours.length < painter.classes.length * 2) packedColours = new Uint32Array(painter.classes.length * 4);
  painter.classes.forEach((of, at) => {
    packedColours[at * 2] = packed(of.colour(), 1);
    packedColours[at * 2 + 1] = packed(of.colour(), kPale);
  });
  return packedColours;
}

// Blocks are by place, as the ranges are: one walk for both.
function addBlocks(picture: Picture, seen: Seen, blocks: Int32Array, painter: Painter): void {
  const { layout, lives, site } = picture;
  let range = 0;
  let known = -1; // classes whose colours are packed
  let packs: Uint32Array = packedColours;
  const from_px = seen.first * layout.row_px;
  const to_px = (seen.last + 1) * layout.row_px;
  while (range < layout.ranges.length && layout.start_px[range] + layout.width_px[range] <= from_px) range += 1;
  if (range === layout.ranges.length) return;
  for (let at = Math.max(0, lifeAt(blocks, lives.place, layout.ranges[range].place)); at < blocks.length; at += 1) {
    const life = blocks[at];
    const place = lives.place[life];
    while (range < layout.ranges.length && place >= layout.ranges[range].place + layout.ranges[range].size) range += 1;
    if (range === layout.ranges.length || layout.start_px[range] >= to_px) break;
    if (place < layout.ranges[range].place) continue;
    const begin_px = pxOf(layout, range, place);
    const end_px = pxOf(layout, range, place + lives.size[life]);
    if (end_px <= from_px) continue;
    if (begin_px >= to_px) break;
    const of = painter.of(life);
    if (painter.classes.length !== known) {
      packs = colours(painter);
      known = painter.classes.length;
    }
    const pale = site !== null && lives.site[life] !== site;
    const { pattern } = painter.classes[of];
    for (let piece_px = Math.max(begin_px, from_px), row = Math.floor(piece_px / layout.row_px); piece_px < end_px && row <= seen.last; row += 1) {
      const stop_px = Math.min(end_px, (row + 1) * layout.row_px);
      const x = piece_px - row * layout.row_px;
      raster!.block(row - seen.first, x, stop_px - piece_px, packs[of * 2 + (pale ? 1 : 0)], stop_px === end_px);
      if (!pale && stop_px - piece_px >= kPattern_px) overlays.add(pattern, x, row * kRow_px - seen.top_px, stop_px - piece_px - 1, kBar_px);
      piece_px = stop_px;
    }
  }
}

function drawDeferred(context: CanvasRenderingContext2D, picture: Picture, seen: Seen): void {
  for (const life of picture.scene.deferred) {
    const range = { place: picture.lives.place[life], size: picture.lives.size[life] };
    eachSeen(picture, seen, range, (x, y, width) => fillRect(context, colour("deferred"), "dense", x, y, Math.max(1, width - 1), kBar_px));
  }
}

function drawTexts(context: CanvasRenderingContext2D, picture: Picture, seen: Seen): void {
  const { layout, scene, lives, site } = picture;
  context.font = canvasFont("600 11px");
  context.textBaseline = "middle";
  const label = (range: Range) =>
    eachSeen(picture, seen, range, (x, y, width, first) => {
      if (!first || width < kLabel_px) return;
      // On a plate, because the colours below differ in lightness.
      const text = sizeText(range.size);
      const wide = context.measureText(text).width + 8;
      if (wide > width - 4) return;
      context.fillStyle = colour("card");
      context.globalAlpha = 0.82;
      context.fillRect(x + 3, y + 3, wide, kBar_px - 6);
      context.globalAlpha = 1;
      context.fillStyle = colour("text");
      context.fillText(text, x + 7, y + kBar_px / 2 + 0.5);
    });
  const least_bytes = kLabel_px * layout.bytesPerPx;
  for (const life of scene.blocks) {
    const pale = site !== null && lives.site[life] !== site;
    if (lives.size[life] >= least_bytes && !pale) label({ place: lives.place[life], size: lives.size[life] });
  }
  for (const extent of scene.free) if (extent.size >= least_bytes) label(extent);
}

function outline(context: CanvasRenderingContext2D, picture: Picture, seen: Seen, range: Range, dashes: number[], width_px: number): void {
  context.setLineDash(dashes);
  context.lineWidth = width_px;
  eachSeen(picture, seen, range, (x, y, width) => context.strokeRect(x, y, Math.max(2, width), kBar_px));
  context.setLineDash([]);
}

function drawChanges(context: CanvasRenderingContext2D, picture: Picture, seen: Seen): void {
  const { scene, lives, changedSince, gone } = picture;
  if (changedSince === null) return;
  const lifeRange = (life: number): Range => ({ place: lives.place[life], size: lives.size[life] });
  context.strokeStyle = colour("chosen");
  const [early, late] = [Math.min(changedSince, scene.instant), Math.max(changedSince, scene.instant)];
  for (const life of scene.blocks) {
    const isNew = scene.instant > changedSince ? lives.birth[life] > early : lives.deferredUntil[life] <= late;
    if (isNew) outline(context, picture, seen, lifeRange(life), [], 1.5);
  }
  for (const life of gone) outline(context, picture, seen, lifeRange(life), [2, 3], 1.5);
}

// The request as long as it is, from where the largest hole that it may use begins.
function drawRequest(context: CanvasRenderingContext2D, picture: Picture, seen: Seen): void {
  const { layout, scene, free, request_bytes } = picture;
  if (request_bytes === null || free.largest === null) return;
  const hole = stretch(layout, scene.free[free.largest]);
  if (hole === null) return;
  const end_px = hole.from_px + request_bytes / layout.bytesPerPx;
  context.fillStyle = colour("request");
  eachPiece(layout, hole.from_px, end_px, (row, x, width) => {
    if (row < seen.first || row > seen.last) return;
    const y = row * kRow_px - seen.top_px;
    context.fillRect(x, y + kBar_px + 1, Math.max(2, width), kRequest_px);
  });
}

export function seenRows(scroll_px: number, height_px: number): Seen {
  return { top_px: scroll_px - 2, first: Math.floor(scroll_px / kRow_px), last: Math.floor((scroll_px + height_px) / kRow_px) };
}

export function drawMap(context: CanvasRenderingContext2D, picture: Picture, scroll_px: number, height_px: number): void {
  const seen = seenRows(scroll_px, height_px);
  raster ??= new Raster();
  raster.begin(picture.layout.row_px, seen.last - seen.first + 1, context.getTransform().a);
  overlays.clear();
  drawGround(context, picture, seen);
  addHoles(picture, seen);
  addBlocks({ ...picture, site: null }, seen, picture.scene.regions, kRegions);
  addBlocks(picture, seen, picture.scene.blocks, picture.painter);
  raster.paint(context, seen.first * kRow_px - seen.top_px, kRow_px, kBar_px, kHole_px);
  overlays.paint(context);
  drawDeferred(context, picture, seen);
  drawTexts(context, picture, seen);
  drawChanges(context, picture, seen);
  drawRequest(context, picture, seen);
}

export function drawChosen(
  context: CanvasRenderingContext2D,
  picture: Picture,
  range: Range,
  scroll_px: number,
  height_px: number,
  strong: boolean,
): void {
  const seen = seenRows(scroll_px, height_px);
  context.strokeStyle = colour("card");
  outline(context, picture, seen, range, [], strong ? 5 : 3);
  context.strokeStyle = colour("chosen");
  outline(context, picture, seen, range, [], strong ? 2.5 : 1.5);
}
