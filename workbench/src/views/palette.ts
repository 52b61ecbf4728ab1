// SPDX-License-Identifier: Apache-2.0
//
// Colours and patterns of what is drawn. The rule: a colour is named here and defined in style.css, once for light and once for dark; who draws
// on a canvas asks here while it draws, and draws again when `drawnIn` changes. A colour never is the only sign: a pattern or a word is beside it.
import { drawnIn } from "../session";

export type Paint =
  | "active" // blocks in use
  | "before" // from before the recording, in no block
  | "deferred" // freed, still waited for
  | "reusable" // free in a segment, fits
  | "fragmented" // free in a segment, too small
  | "incompatible" // free in a segment, another pool or class
  | "segment" // held by PyTorch's allocator as a whole
  | "used" // of the device as a whole
  | "library" // another library of this process
  | "others" // other processes
  | "residual" // context and modules: what is left over
  | "free" // on the device
  | "request" // that was refused
  | "peak"
  | "threshold"
  | "chosen"; // the instant, the site or the block that is looked at

// Parts of the page that are no data.
export type Ground = "ground" | "card" | "line" | "text" | "quiet";

export type Pattern = "plain" | "stripes" | "dense" | "dots" | "grid" | "back" | "level";

const kPatterns: Record<Paint, Pattern> = {
  active: "plain",
  before: "dense",
  deferred: "dense",
  reusable: "dots",
  fragmented: "stripes",
  incompatible: "grid",
  segment: "plain",
  used: "plain",
  library: "back",
  others: "level",
  residual: "stripes",
  free: "plain",
  request: "dense",
  peak: "plain",
  threshold: "plain",
  chosen: "plain",
};

const kOrdinalColours_count = 12;
const kLibraryColours_count = 4;
const kOrdinalPatterns: Pattern[] = ["plain", "stripes", "dots", "back", "grid", "level"];

export const kCategories = ["parameter", "gradient", "optimizer_state", "buffer", "input", "activation", "unknown"] as const;

let known = new Map<string, string>();
let knownIn = "";

function property(name: string): string {
  // Reading the signal makes whoever draws inside an effect draw again.
  if (drawnIn.value !== knownIn) {
    known = new Map();
    knownIn = drawnIn.value;
  }
  let colour = known.get(name);
  if (colour === undefined) {
    colour = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    known.set(name, colour);
  }
  return colour;
}

export function colour(paint: Paint | Ground): string {
  return property(paint);
}

export function patternOf(paint: Paint): Pattern {
  return kPatterns[paint];
}

// Stable for a site or phase: by its ordinal alone. 0 stands for "not known".
export function ordinalName(ordinal: number): string {
  return ordinal <= 0 ? "ordinal-none" : `ordinal-${(ordinal - 1) % kOrdinalColours_count}`;
}

export function ordinalColour(ordinal: number): string {
  return property(ordinalName(ordinal));
}

// The same colour comes again after twelve ordinals, with another pattern.
export function ordinalPattern(ordinal: number): Pattern {
  return ordinal <= 0 ? "plain" : kOrdinalPatterns[Math.floor((ordinal - 1) / kOrdinalColours_count) % kOrdinalPatterns.length];
}

export function libraryName(ordinal: number): string {
  return `library-${Math.max(0, ordinal) % kLibraryColours_count}`;
}

export function libraryColour(ordinal: number): string {
  return property(libraryName(ordinal));
}

export function categoryName(category: string): string {
  const at = kCategories.indexOf(category as (typeof kCategories)[number]);
  return at < 0 || category === "unknown" ? "ordinal-none" : `category-${category.replace("_", "-")}`;
}

export function categoryColour(category: string): string {
  return property(categoryName(category));
}

// Less to more, for ages and shares: 0 … 1.
export function ramp(part: number): string {
  return property(`ramp-${Math.min(6, Math.max(0, Math.round(part * 6)))}`);
}

// Of differences: −1 … 1. Blue is less, orange is more; the text beside it has the sign.
export function diverging(part: number): string {
  return property(`diverging-${Math.min(6, Math.max(0, Math.round((part + 1) * 3)))}`);
}

const kTile_px = 8;
let tiles = new Map<string, CanvasPattern>();
let tilesIn = "";

function drawTile(context: CanvasRenderingContext2D, pattern: Pattern): void {
  const end = kTile_px;
  context.beginPath();
  if (pattern === "stripes" || pattern === "dense") {
    for (let at = -end; at <= end; at += pattern === "dense" ? end / 2 : end) {
      context.moveTo(at, end);
      context.lineTo(at + end, 0);
    }
  } else if (pattern === "back") {
    for (let at = -end; at <= end; at += end) {
      context.moveTo(at, 0);
      context.lineTo(at + end, end);
    }
  } else if (pattern === "grid" || pattern === "level") {
    context.moveTo(0, end / 2);
    context.lineTo(end, end / 2);
    if (pattern === "grid") {
      context.moveTo(end / 2, 0);
      context.lineTo(end / 2, end);
    }
  } else if (pattern === "dots") {
    context.rect(end / 4, end / 4, 1.5, 1.5);
    context.rect((end * 3) / 4, (end * 3) / 4, 1.5, 1.5);
  }
  context.stroke();
}

// What a canvas fills with to get a pattern over a colour that it has filled with before; null for "plain".
export function overlay(context: CanvasRenderingContext2D, pattern: Pattern): CanvasPattern | null {
  if (pattern === "plain") return null;
  if (tilesIn !== drawnIn.value) {
    tiles = new Map();
    tilesIn = drawnIn.value;
  }
  let tile = tiles.get(pattern);
  if (tile === undefined) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = kTile_px;
    const drawing = canvas.getContext("2d")!;
    drawing.strokeStyle = property("pattern");
    drawing.lineWidth = 1.2;
    drawTile(drawing, pattern);
    tile = context.createPattern(canvas, "repeat")!;
    tiles.set(pattern, tile);
  }
  return tile;
}

export function fillRect(
  context: CanvasRenderingContext2D,
  colour: string,
  pattern: Pattern,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
  const over = overlay(context, pattern);
  if (over === null) return;
  context.fillStyle = over;
  context.fillRect(x, y, width, height);
}
