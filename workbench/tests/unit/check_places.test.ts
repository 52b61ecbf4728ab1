// SPDX-License-Identifier: Apache-2.0
//
// Ranges by place, against a list that is looked through from end to end.
import { expect, test } from "vitest";
import { PlaceMap, type Range } from "../../src/checks/place_map";

// Always the same numbers.
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("what overlaps and what lies before a place is found among thousands that come and go", () => {
  const map = new PlaceMap<number>();
  let all: Range<number>[] = [];
  const next = numbers(7);
  for (let turn = 0; turn < 20_000; ++turn) {
    const place = next(1 << 20);
    const end = place + 1 + next(64);
    const expected = all.filter((range) => range.place < end && range.end > place);
    const found = map.overlapping(place, end);
    expect(found.length).toBe(expected.length);
    expect(new Set(found)).toEqual(new Set(expected));
    if (turn % 50 === 0) {
      const before = all.filter((range) => range.place <= place).sort((a, b) => b.place - a.place)[0] ?? null;
      expect(map.before(place)).toBe(before);
    }
    for (const range of found) {
      expect(map.remove(range)).toBe(true);
      expect(map.remove(range)).toBe(false);
    }
    all = all.filter((range) => !found.includes(range));
    const range = { place, end, value: turn };
    map.add(range);
    all.push(range);
    if (all.length > 1500) {
      const gone = all.splice(next(all.length), 1)[0];
      expect(map.remove(gone)).toBe(true);
    }
  }
});

test("an empty range overlaps nothing, and touching ranges do not overlap", () => {
  const map = new PlaceMap<string>();
  const first = { place: 512, end: 1024, value: "first" };
  map.add(first);
  expect(map.overlapping(512, 512)).toEqual([]);
  expect(map.overlapping(0, 512)).toEqual([]);
  expect(map.overlapping(1024, 2048)).toEqual([]);
  expect(map.overlapping(1023, 1024)).toEqual([first]);
  expect(map.before(511)).toBeNull();
  expect(map.before(5000)).toBe(first);
});
