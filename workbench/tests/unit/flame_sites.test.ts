// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table of sites, and the ages that the map colours by.
import { describe, expect, it } from "vitest";
import type { History, Scene } from "../../src/history/history";
import { sumSites, type SiteSum } from "../../src/history/site_sums";
import { ageClass } from "../../src/views/map_paint";
import { siteRows } from "../../src/views/sites";

const sum = (site: number, bytes: number): SiteSum => ({ site, bytes, blocks: 1, firstStep: 0, lastStep: 2, phase: 0, category: "unknown" });
const sums = (...all: SiteSum[]) => new Map(all.map((one) => [one.site, one]));
const label = (site: number) => `site ${site}`;

describe("the table of sites", () => {
  it("has a row for a site that is gone since the reference", () => {
    const rows = siteRows(sums(sum(1, 50)), sums(sum(1, 20), sum(2, 70)), null, label);
    expect(rows.map((row) => [row.site, row.bytes, row.blocks, row.growth_bytes])).toEqual([
      [1, 50, 1, 30],
      [2, 0, 0, -70],
    ]);
  });

  it("knows no growth without a reference, and what is retained only where the receipt says it", () => {
    const [row] = siteRows(sums(sum(1, 50)), null, null, label);
    expect([row.growth_bytes, row.retained_bytes]).toEqual([null, null]);
    const [told, untold] = siteRows(sums(sum(1, 50), sum(2, 9)), null, new Map([[1, 40]]), label);
    expect([told.retained_bytes, untold.retained_bytes]).toEqual([40, null]);
  });
});

describe("the sums of sites", () => {
  const lives = {
    site: new Int32Array([1, 1, 1, 2]),
    size: new Float64Array([100, 300, 300, 7]),
    step: new Int32Array([4, 9, 2, 0]),
    phase: new Int32Array([1, 2, 3, 0]),
  };
  const use = ["buffer", "input", "gradient", "unknown"];
  const history = { lives, categoryOf: (life: number) => use[life] } as unknown as History;
  const scene = (blocks: number[], deferred: number[] = []) =>
    ({ instant: 0, blocks: new Int32Array(blocks), deferred: new Set(deferred) }) as unknown as Scene;

  it("take the phase of the largest block, of equal ones the first by place, and the earlier of equal uses", () => {
    expect(sumSites(history, scene([0, 1, 2, 3])).get(1)).toMatchObject({
      bytes: 700,
      blocks: 3,
      firstStep: 2,
      lastStep: 9,
      phase: 2,
      category: "gradient",
    });
  });

  it("leave out what is freed and still waited for", () => {
    const found = sumSites(history, scene([0, 1, 3], [1, 3]));
    expect([...found.keys()]).toEqual([1]);
    expect(found.get(1)).toMatchObject({ bytes: 100, blocks: 1, phase: 1, category: "buffer" });
  });
});

describe("ages", () => {
  it("are classes of steps, the last one open", () => {
    expect([0, 1, 2, 3, 4, 15, 16, 63, 64, 100000].map(ageClass)).toEqual([0, 1, 2, 2, 3, 4, 5, 5, 6, 6]);
  });

  it("of a block from a later step than the instant is this step's", () => {
    expect(ageClass(-1)).toBe(0);
  });
});
