// SPDX-License-Identifier: Apache-2.0
//
// What is drawn of a lane: no value of a stretch vanishes, near enough each event is a point, and what is not known is a gap.
import { describe, expect, it } from "vitest";
import { Extremes } from "../../src/parts/extremes";
import { byteSteps, firstFrom, runAt, sample, type LaneData, type Positions } from "../../src/parts/lane_points";

function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

const none = new Float64Array(0);

function ofRows(values: number[], places = values.map((_, at) => at)): { positions: Positions; lane: LaneData } {
  return {
    positions: { rows: Float64Array.from(places), runFrom: none, runTo: none },
    lane: { rows: new Extremes(Float64Array.from(values)), least: none, greatest: none, last: none },
  };
}

describe("least and greatest of a range", () => {
  it("are those of a slow look, at any edge", () => {
    const next = numbers(3);
    const values = Array.from({ length: 1000 }, () => (next() < 0.1 ? NaN : Math.floor(next() * 1e6) - 5e5));
    const fast = new Extremes(Float64Array.from(values));
    for (let round = 0; round < 2000; ++round) {
      const from = Math.floor(next() * 1010) - 5;
      const to = from + Math.floor(next() * 300);
      const known = values.slice(Math.max(0, from), Math.max(0, to)).filter((value) => !Number.isNaN(value));
      const expected = known.length === 0 ? null : { least: Math.min(...known), greatest: Math.max(...known) };
      expect(fast.over(from, to)).toEqual(expected);
    }
  });

  it("are none where nothing is known", () => {
    expect(new Extremes(new Float64Array(200).fill(NaN)).over(0, 200)).toBeNull();
    expect(new Extremes(none).over(0, 5)).toBeNull();
  });
});

describe("a lane looked at from afar", () => {
  it("keeps the one event that is highest and the one that is lowest", () => {
    for (const spike of [1, 4999, 5000, 9998]) {
      const values = new Array<number>(10000).fill(100);
      values[spike] = 1e9;
      values[(spike + 3331) % 10000] = -7;
      const { positions, lane } = ofRows(values);
      const drawn = sample(positions, [lane], 0, 9999, 50);
      expect(drawn.exact).toBe(false);
      expect(drawn.x.length).toBe(100);
      expect(Math.max(...drawn.y[0].map((value) => value ?? 0))).toBe(1e9);
      expect(Math.min(...drawn.y[0].map((value) => value ?? 0))).toBe(-7);
    }
  });

  it("goes up where the lane rose and down where it fell", () => {
    const rising = ofRows(Array.from({ length: 1000 }, (_, at) => at));
    const up = sample(rising.positions, [rising.lane], 0, 999, 10).y[0] as number[];
    expect([...up].sort((a, b) => a - b)).toEqual(up);
    const falling = ofRows(Array.from({ length: 1000 }, (_, at) => 1000 - at));
    const down = sample(falling.positions, [falling.lane], 0, 999, 10).y[0] as number[];
    expect([...down].sort((a, b) => b - a)).toEqual(down);
  });

  it("keeps its value between two events that are far apart", () => {
    const values = [...new Array<number>(600).fill(3), ...new Array<number>(600).fill(8)];
    const places = values.map((_, at) => (at < 600 ? at / 600 : 1000 + at / 600));
    const { positions, lane } = ofRows(values, places);
    const drawn = sample(positions, [lane], 0, 1002, 100);
    drawn.x.forEach((x, at) => {
      if (x > 20 && x < 980) expect(drawn.y[0][at]).toBe(3);
    });
  });

  it("has a gap where nothing is known", () => {
    const values = Array.from({ length: 4000 }, (_, at) => (at < 2000 ? NaN : 5));
    const { positions, lane } = ofRows(values);
    const drawn = sample(positions, [lane], 0, 3999, 20);
    expect(drawn.y[0].slice(0, 20).every((value) => value === null)).toBe(true);
    expect(drawn.y[0].slice(22).every((value) => value === 5)).toBe(true);
  });
});

describe("a lane looked at from near", () => {
  it("has a point for each event, and the one before and after", () => {
    const { positions, lane } = ofRows(Array.from({ length: 1000 }, (_, at) => at * 2));
    const drawn = sample(positions, [lane], 500, 503, 50);
    expect(drawn.exact).toBe(true);
    expect(drawn.x).toEqual([499, 500, 501, 502, 503, 504]);
    expect(drawn.y[0]).toEqual([998, 1000, 1002, 1004, 1006, 1008]);
  });
});

describe("events that are summarised", () => {
  const positions: Positions = {
    rows: Float64Array.from({ length: 100 }, (_, at) => 1000 + at),
    runFrom: Float64Array.from([0, 500, 1100]),
    runTo: Float64Array.from([499, 999, 1500]),
  };
  const lane: LaneData = {
    rows: new Extremes(new Float64Array(100).fill(50)),
    least: Float64Array.from([1, 2, NaN]),
    greatest: Float64Array.from([900, 20, NaN]),
    last: Float64Array.from([10, 20, NaN]),
  };

  it("show the least and the greatest of their run beside what is there one by one", () => {
    const drawn = sample(positions, [lane], 0, 1500, 30);
    expect(Math.max(...drawn.y[0].map((value) => value ?? 0))).toBe(900);
    const at = (x: number) => drawn.y[0][drawn.x.findIndex((place) => place >= x)];
    expect(at(600)).toBe(2);
    expect(at(1050)).toBe(50);
    expect(at(1300)).toBeNull();
  });

  it("are found by their place", () => {
    expect([0, 499, 499.5, 500, 1000, 1050, 1100, 1500, 1501].map((place) => runAt(positions, place))).toEqual([0, 0, -1, 1, -1, -1, 2, 2, -1]);
  });

  it("are never taken for single events", () => {
    expect(sample(positions, [lane], 400, 520, 400).exact).toBe(false);
    expect(sample(positions, [lane], 1010, 1020, 400).exact).toBe(true);
  });
});

describe("an axis", () => {
  it("finds the first place at or after another one", () => {
    const places = [1, 1, 2, 5];
    expect([0, 1, 1.5, 5, 6].map((at) => firstFrom(places, at))).toEqual([0, 0, 2, 3, 4]);
    expect(firstFrom([], 1)).toBe(0);
  });

  it("has steps of powers of two, at most as many as there is room for", () => {
    const GiB = 2 ** 30;
    expect(byteSteps(6 * GiB, 4).map((step) => step / GiB)).toEqual([0, 2, 4, 6]);
    expect(byteSteps(1, 4)).toEqual([0, 1]);
    for (const top of [3, 1000, 7e9, 2 ** 52]) expect(byteSteps(top, 6).length).toBeLessThanOrEqual(7);
  });
});
