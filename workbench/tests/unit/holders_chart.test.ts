// SPDX-License-Identifier: Apache-2.0
//
// Over time, what is not known is not drawn as free.
import { expect, test } from "vitest";
import { knownStretches } from "../../src/views/holders_chart";

test("free is drawn where what the device had in use is known, and nowhere else", () => {
  const used = [NaN, NaN, 5, 5, NaN, 7].map((value) => ({ used: value }));
  expect(knownStretches(used)).toEqual([[2, 4], [5, 6]]);
  expect(knownStretches([null, { used: 0 }, null])).toEqual([[1, 2]]);
  expect(knownStretches([{ used: NaN }, null])).toEqual([]);
});
