// SPDX-License-Identifier: Apache-2.0
//
// Paints many thousands of blocks and holes at once, a column of pixels at a time. The rule: a block is never narrower than a pixel, because a small
// one may be what holds a segment; a column is shown as free where holes cover most of it. Its arrays are kept, so that a frame makes none.
import { overlay, type Pattern } from "./palette";

// The colours of style.css are written #rrggbb; ImageData wants them from the last byte to the first.
export function packed(colour: string, opacity: number): number {
  const value = parseInt(colour.slice(1), 16);
  const [red, green, blue] = [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  return ((Math.round(opacity * 255) << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export class Raster {
  private width = 0; // pixels of the screen
  private rows = 0;
  private density = 1;
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0); // two lines a row: what is above, and at the foot
  private covered = new Float32Array(0); // by holes, a part of each column
  private foot = new Uint32Array(0); // colour of the last hole there
  private readonly canvas = document.createElement("canvas");

  begin(width_px: number, rows: number, density: number): void {
    const width = Math.max(1, Math.round(width_px * density));
    this.density = density;
    if (this.image === null || width !== this.width || rows !== this.rows) {
      this.width = width;
      this.rows = rows;
      this.canvas.width = width;
      this.canvas.height = rows * 2;
      this.image = new ImageData(width, rows * 2);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.covered = new Float32Array(width * rows);
      this.foot = new Uint32Array(width * rows);
    } else {
      this.pixels.fill(0);
      this.covered.fill(0);
    }
  }

  // Columns of a row, in CSS pixels; where there is room the last one stays empty, as a line between neighbours, unless it goes on in the next row.
  block(row: number, x: number, width_px: number, colour: number, ends: boolean): void {
    const from = Math.min(this.width - 1, Math.round(x * this.density));
    const to = Math.min(this.width, Math.max(from + 1, Math.round((x + width_px) * this.density) - (ends && width_px >= 4 ? 1 : 0)));
    const line = row * 2 * this.width;
    this.pixels.fill(colour, line + from, line + to);
    this.pixels.fill(colour, line + this.width + from, line + this.width + to);
  }

  hole(row: number, x: number, width_px: number, colour: number): void {
    const from = x * this.density;
    const to = Math.min(this.width, (x + width_px) * this.density);
    const begin = row * this.width;
    for (let column = Math.floor(from); column < to; column += 1) {
      this.covered[begin + column] += Math.min(to, column + 1) - Math.max(from, column);
      this.foot[begin + column] = colour;
    }
  }

  // Rows are `pitch_px` apart, `bar_px` high, and a hole fills `foot_px` of that from below.
  paint(context: CanvasRenderingContext2D, top_px: number, pitch_px: number, bar_px: number, foot_px: number): void {
    if (this.image === null) return;
    for (let row = 0; row < this.rows; row += 1) {
      const begin = row * this.width;
      const line = (row * 2 + 1) * this.width;
      for (let column = 0; column < this.width; column += 1)
        if (this.covered[begin + column] > 0.5) this.pixels[line + column] = this.foot[begin + column];
    }
    this.canvas.getContext("2d")!.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    const width_px = this.width / this.density;
    for (let row = 0; row < this.rows; row += 1) {
      const y = top_px + row * pitch_px;
      context.drawImage(this.canvas, 0, row * 2, this.width, 1, 0, y, width_px, bar_px - foot_px);
      context.drawImage(this.canvas, 0, row * 2 + 1, this.width, 1, 0, y + bar_px - foot_px, width_px, foot_px);
    }
  }
}

const kPatterns: Pattern[] = ["stripes", "dense", "dots", "grid", "back", "level"];

// Rectangles that get a pattern over their colour; few, because narrow ones get none.
export class Overlays {
  private readonly rectangles = kPatterns.map(() => ({ count: 0, values: new Float32Array(256) }));

  clear(): void {
    for (const kept of this.rectangles) kept.count = 0;
  }

  add(pattern: Pattern, x: number, y: number, width: number, height: number): void {
    const at = kPatterns.indexOf(pattern);
    if (at < 0) return;
    const kept = this.rectangles[at];
    if ((kept.count + 1) * 4 > kept.values.length) {
      const longer = new Float32Array(kept.values.length * 2);
      longer.set(kept.values);
      kept.values = longer;
    }
    const begin = kept.count * 4;
    kept.values[begin] = x;
    kept.values[begin + 1] = y;
    kept.values[begin + 2] = width;
    kept.values[begin + 3] = height;
    kept.count += 1;
  }

  paint(context: CanvasRenderingContext2D): void {
    this.rectangles.forEach(({ count, values }, at) => {
      if (count === 0) return;
      context.fillStyle = overlay(context, kPatterns[at])!;
      for (let begin = 0; begin < count * 4; begin += 4) context.fillRect(values[begin], values[begin + 1], values[begin + 2], values[begin + 3]);
    });
  }
}
