// SPDX-License-Identifier: Apache-2.0
//
// Where addresses lie on the memory map.
import { describe, expect, it } from "vitest";
import { eachPiece, fittingScale, kGap_px, layOut, lifeAt, placeAt, pxOf, rangeAt, union } from "../../src/views/map_layout";

const MiB = 2 ** 20;

describe("the map's layout", () => {
  it("joins ranges that touch or overlap and keeps others apart", () => {
    const ranges = [
      { place: 100, size: 10 },
      { place: 0, size: 50 },
      { place: 50, size: 20 },
      { place: 60, size: 5 },
    ];
    expect(union(ranges)).toEqual([
      { place: 0, size: 70 },
      { place: 100, size: 10 },
    ]);
  });

  it("draws every range at one scale", () => {
    const layout = layOut(
      [
        { place: 0, size: 2 * MiB },
        { place: 8 * MiB, size: 20 * MiB },
      ],
      1000,
      MiB / 10,
    );
    expect(layout.width_px[1] / layout.width_px[0]).toBeCloseTo(10);
  });

  it("goes on in the next row where most of one would stay empty", () => {
    const layout = layOut(
      [
        { place: 0, size: 50 },
        { place: 100, size: 60 },
      ],
      100,
      1,
    );
    expect([...layout.start_px]).toEqual([0, 50 + kGap_px]);
    expect(layout.row_count).toBe(2);
  });

  it("begins a row where the rest of one is too short", () => {
    const layout = layOut(
      [
        { place: 0, size: 60 },
        { place: 100, size: 60 },
      ],
      100,
      1,
    );
    expect([...layout.start_px]).toEqual([0, 100]);
    expect(layout.row_count).toBe(2);
  });

  it("puts small ranges side by side", () => {
    const layout = layOut(
      [
        { place: 0, size: 20 },
        { place: 100, size: 20 },
      ],
      100,
      1,
    );
    expect([...layout.start_px]).toEqual([0, 20 + kGap_px]);
    expect(layout.row_count).toBe(1);
  });

  it("cuts a long range at each row's end, and the pieces add up", () => {
    const layout = layOut([{ place: 0, size: 250 }], 100, 1);
    const pieces: number[][] = [];
    eachPiece(layout, 30, 230, (row, x, width, first) => pieces.push([row, x, width, Number(first)]));
    expect(pieces).toEqual([
      [0, 30, 70, 1],
      [1, 0, 100, 0],
      [2, 0, 30, 0],
    ]);
    expect(pieces.reduce((sum, piece) => sum + piece[2], 0)).toBe(200);
  });

  it("ends what is longer than the map with the map", () => {
    const layout = layOut([{ place: 0, size: 250 }], 100, 1);
    const rows: number[] = [];
    eachPiece(layout, 30, 2 ** 60, (row) => {
      rows.push(row);
      if (rows.length > 3) throw new Error("it goes on below the map");
    });
    expect(rows).toEqual([0, 1, 2]);
  });

  it("finds the place under a point again", () => {
    const ranges = [
      { place: 4096, size: 2 * MiB },
      { place: 64 * MiB, size: 300 * MiB },
      { place: 900 * MiB, size: 20 * MiB },
    ];
    const layout = layOut(ranges, 777, MiB / 4);
    for (const place of [4096, 4096 + MiB, 64 * MiB, 200 * MiB, 363 * MiB, 919 * MiB]) {
      expect(placeAt(layout, pxOf(layout, rangeAt(ranges, place), place))).toBeCloseTo(place, 0);
    }
    expect(placeAt(layout, layout.start_px[1] - 1)).toBeNull();
  });

  it("fits everything in the rows it is given, at the finest such scale", () => {
    const ranges = Array.from({ length: 300 }, (_, at) => ({ place: at * 64 * MiB, size: at % 3 === 0 ? 2 * MiB : 20 * MiB }));
    const scale = fittingScale(ranges, 1000, 16);
    expect(layOut(ranges, 1000, scale).row_count).toBeLessThanOrEqual(16);
    expect(layOut(ranges, 1000, scale / 1.2).row_count).toBeGreaterThan(16);
  });

  it("finds the block at a place", () => {
    const places = new Float64Array([500, 100, 300]);
    const byPlace = new Int32Array([1, 2, 0]);
    expect([99, 100, 299, 300, 1000].map((place) => lifeAt(byPlace, places, place))).toEqual([-1, 0, 0, 1, 2]);
  });
});
