// SPDX-License-Identifier: Apache-2.0
//
// Where an address lies on the memory map. The rule: one scale for everything that is shown; ranges follow each other by address like words of
// a text, and what does not fit in a row goes on in the next one. Nothing here draws.

export interface Range {
  place: number; // bytes
  size: number; // bytes
}

export const kGap_px = 3;
const kEmptyMost = 0.4; // of a row
const kLeast_px = 2; // a range is never narrower, or nobody would see it

// Addresses to a line of pixels that rows are cut from.
export interface Layout {
  ranges: Range[]; // by place
  start_px: Float64Array; // of each range on the line
  width_px: Float64Array;
  row_px: number; // length of a row
  row_count: number;
  bytesPerPx: number;
}

// Touching and overlapping ranges become one.
export function union(ranges: Range[]): Range[] {
  const sorted = ranges.slice().sort((a, b) => a.place - b.place);
  const merged: Range[] = [];
  for (const range of sorted) {
    const last = merged[merged.length - 1];
    if (last !== undefined && range.place <= last.place + last.size) last.size = Math.max(last.size, range.place + range.size - last.place);
    else merged.push({ ...range });
  }
  return merged;
}

export function layOut(ranges: Range[], row_px: number, bytesPerPx: number): Layout {
  const start_px = new Float64Array(ranges.length);
  const width_px = new Float64Array(ranges.length);
  let at_px = 0;
  ranges.forEach((range, index) => {
    const wide_px = Math.max(kLeast_px, range.size / bytesPerPx);
    const left_px = row_px - (at_px % row_px);
    // What does not fit in the rest of a row begins the next one, unless too much of the row would stay empty.
    if (wide_px > left_px && left_px < row_px * kEmptyMost) at_px += left_px;
    start_px[index] = at_px;
    width_px[index] = wide_px;
    at_px += wide_px + kGap_px;
  });
  return { ranges, start_px, width_px, row_px, row_count: Math.max(1, Math.ceil((at_px - kGap_px) / row_px)), bytesPerPx };
}

// The finest scale at which all of it needs no more than so many rows.
export function fittingScale(ranges: Range[], row_px: number, rows: number): number {
  const whole_bytes = ranges.reduce((sum, range) => sum + range.size, 0);
  let bytesPerPx = Math.max(1, whole_bytes / (row_px * rows));
  for (let tries = 0; tries < 60 && layOut(ranges, row_px, bytesPerPx).row_count > rows; tries += 1) bytesPerPx *= 1.06;
  return bytesPerPx;
}

// The range that a place lies in, else the one before it; −1 before the first.
export function rangeAt(ranges: Range[], place: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle].place <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function pxOf(layout: Layout, range: number, place: number): number {
  const { size, place: begin } = layout.ranges[range];
  return layout.start_px[range] + ((place - begin) / size) * layout.width_px[range];
}

// The place under a point of the line; null between ranges.
export function placeAt(layout: Layout, line_px: number): number | null {
  let low = 0;
  let high = layout.ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.start_px[middle] <= line_px) low = middle + 1;
    else high = middle;
  }
  const range = low - 1;
  if (range < 0 || line_px >= layout.start_px[range] + layout.width_px[range]) return null;
  return layout.ranges[range].place + ((line_px - layout.start_px[range]) / layout.width_px[range]) * layout.ranges[range].size;
}

// One rectangle for each row that a stretch of the line touches. What is longer than the map ends with it: a size that is corrupt has no end.
export function eachPiece(
  layout: Layout,
  from_px: number,
  to_px: number,
  visit: (row: number, x: number, width: number, first: boolean) => void,
): void {
  const { row_px, row_count } = layout;
  let at_px = from_px;
  for (let row = Math.floor(from_px / row_px); at_px < to_px && row < row_count; row += 1) {
    const end_px = Math.min(to_px, (row + 1) * row_px);
    visit(row, at_px - row * row_px, end_px - at_px, at_px === from_px);
    at_px = end_px;
  }
}

// The index of the last of some lives, sorted by place, that begins at or before a place; −1 before the first.
export function lifeAt(lives: Int32Array, places: Float64Array, place: number): number {
  let low = 0;
  let high = lives.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[lives[middle]] <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
