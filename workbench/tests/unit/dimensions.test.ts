// SPDX-License-Identifier: Apache-2.0
//
// Which of the dimensions that a job noted the verdict tells of.
import { expect, test } from "vitest";
import type { Incident } from "../../src/data/incident";
import { notedOf } from "../../src/views/verdict_dimensions";

const kEffect = { interval_count: 4, together_count: 2, peak_bytes: 4096, value_at_peak: 8 };

function incident(effects: [changed: number, least: number | string, greatest: number | string][], values: (number | string)[]): Incident {
  const dimension_effects = effects.map(([changed_count, least_value, greatest_value], at) => ({
    ...kEffect, dimension: at + 1, changed_count, least_value, greatest_value,
  }));
  return {
    receipt: { evidence: { dimension_effects }, environment: { dimensions: values.map((value, at) => ({ dimension: at + 1, value })) } },
  } as unknown as Incident;
}

test("a dimension that changed is told, with its value at the failure", () => {
  expect(notedOf(incident([[3, 2048, 2560]], [2560]))).toMatchObject([{ dimension: 1, value: 2560, changed_count: 3 }]);
  expect(notedOf(incident([[3, 2048, 2560]], []))).toMatchObject([{ value: null }]);
});

test("one that never changed is told only where the failure's value lies beyond what was before", () => {
  expect(notedOf(incident([[0, 8, 8], [0, 8, 8], [0, 8, 8]], [8, 16, 4])).map((one) => one.dimension)).toEqual([2, 3]);
  expect(notedOf(incident([[0, "9007199254740993", "9007199254740993"]], ["9007199254740994"]))).toHaveLength(1);
  expect(notedOf(incident([[0, 8, 8]], []))).toEqual([]);
});

test("a recording without an incident in evidence tells of none", () => {
  expect(notedOf({ receipt: { evidence: { dimension_effects: null }, environment: {} } } as unknown as Incident)).toEqual([]);
});
