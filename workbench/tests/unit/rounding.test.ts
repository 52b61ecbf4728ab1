// SPDX-License-Identifier: Apache-2.0
//
// What stands in one sum adds up as it is shown: parts of the card, and the terms of an inequality.
import { describe, expect, it } from "vitest";
import { binBirths } from "../../src/parts/birth_bins";
import { clauses, sumText } from "../../src/parts/inequality";
import { hundredths, hundredthsOfParts } from "../../src/parts/units";

// A small generator that gives the same numbers in every run.
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

describe("parts of a sum", () => {
  it("add up to the rounded sum, the first rounded to the nearest", () => {
    const next = numbers(7);
    for (let round = 0; round < 500; ++round) {
      const parts = Array.from({ length: 1 + Math.floor(next() * 9) }, () => Math.floor((next() - 0.1) * 2 ** (20 + Math.floor(next() * 20))));
      const rounded = hundredthsOfParts(parts);
      const sum = parts.reduce((a, b) => a + b, 0);
      expect(rounded.reduce((a, b) => a + b, 0n)).toBe(hundredths(sum));
      expect(rounded[0]).toBe(hundredths(parts[0]));
      // No part is further off than a hundredth.
      parts.forEach((part, at) => expect(Math.abs(Number(rounded[at]) - (part * 100) / 2 ** 30)).toBeLessThan(1.0001));
    }
  });

  it("give the largest remainder first, and of equal ones the first", () => {
    const third = Math.floor(2 ** 30 / 300);
    // 0.333 each: three of them come to 1.00 hundredth, and the first is rounded by itself to 0.
    expect(hundredthsOfParts([third, third, third])).toEqual([0n, 1n, 0n]);
    // 0, 0.3 and 0.9 of a hundredth come to 1.2.
    expect(hundredthsOfParts([0, Math.floor(2 ** 30 * 0.003), Math.floor(2 ** 30 * 0.009)])).toEqual([0n, 0n, 1n]);
    expect(hundredthsOfParts([])).toEqual([]);
  });

  it("may be negative", () => {
    expect(hundredthsOfParts([2 ** 30, -(2 ** 29)])).toEqual([100n, -50n]);
  });
});

describe("an inequality", () => {
  it("is taken apart into clauses, sides and named terms", () => {
    const found = clauses("available 100 - active 60 - request 10 = 30 >= threshold 5 and largest_free_extent 3 < request 10")!;
    expect(found.map((clause) => clause.relation)).toEqual([">=", "<"]);
    expect(found[0].left.sum).toBe(30n);
    expect(found[0].left.terms.map((term) => [term.name, term.subtracted])).toEqual([
      ["available", false],
      ["active", true],
      ["request", true],
    ]);
    expect(found[1].right.terms[0].bytes).toBe(10n);
  });

  it("holds numbers beyond 2^53 exactly", () => {
    expect(clauses("retained 9007199254740993 > deficit 9007199254740992")![0].left.sum).toBe(9007199254740993n);
  });

  it("that has another form is left as the line it is", () => {
    expect(clauses("unknown: the numbers settle nothing")).toBeNull();
    expect(clauses("retained 1 >= deficit 2 >= floor 3")).toBeNull();
    expect(clauses("retained x >= deficit 2")).toBeNull();
    expect(clauses("available 5 - active 1 = 3 >= threshold 1")).toBeNull();
    expect(clauses("")).toBeNull();
  });

  it("shows a sum whose rounded terms add up, in MiB where GiB would show next to nothing", () => {
    const side = (text: string) => clauses(`${text} >= threshold 1`)![0].left;
    const GiB = 2 ** 30;
    const [available, active, request] = [Math.round(5.714 * GiB), Math.round(5.054 * GiB), 2 ** 26];
    const large = sumText(side(`available ${available} - active ${active} - request ${request} = ${available - active - request}`));
    expect([...large.terms, large.sum]).toEqual(["5.71", "5.05", "0.06", "0.60 GiB"]);
    const small = sumText(side(`available ${100 * 2 ** 20} - active ${104 * 2 ** 20} = ${-4 * 2 ** 20}`));
    expect([...small.terms, small.sum]).toEqual(["100.00", "104.00", "−4.00 MiB"]);
  });
});

describe("bars of births", () => {
  const births = Array.from({ length: 100 }, (_, at) => ({ at, site: at % 4, size_bytes: at + 1 }));

  it("add up to all that is live, whatever their number and that of the sites", () => {
    for (const [bars, sites] of [
      [1, 1],
      [7, 2],
      [100, 4],
      [500, 9],
    ]) {
      const binned = binBirths(births, bars, sites);
      expect(binned.bins.length).toBeLessThanOrEqual(bars);
      expect(binned.bins.flatMap((bin) => bin.bytes).reduce((a, b) => a + b, 0)).toBe(5050);
      expect(binned.total_bytes).toBe(5050);
      expect(binned.bins.reduce((sum, bin) => sum + bin.blocks, 0)).toBe(100);
    }
  });

  it("put the sites with most bytes first and the others into the last part", () => {
    const binned = binBirths(births, 1, 2);
    expect(binned.sites).toEqual([3, 2]);
    expect(binned.bins[0].bytes).toEqual([1300, 1275, 2475]);
  });

  it("follow one another without a gap or an overlap", () => {
    const { bins } = binBirths(births, 7, 1);
    expect(bins[0].from).toBe(0);
    expect(bins.at(-1)!.to).toBe(99);
    bins.slice(1).forEach((bin, at) => expect(bin.from).toBe(bins[at].to + 1));
  });

  it("of nothing are none", () => {
    expect(binBirths([], 10, 3)).toEqual({ sites: [], bins: [], total_bytes: 0 });
  });
});
