// SPDX-License-Identifier: Apache-2.0
//
// Numbers are spelled as in the terminal's report; the values are worked out by hand.
import { describe, expect, it } from "vitest";
import {
  amountText,
  changeBetween,
  changeText,
  counted,
  durationText,
  exactText,
  grouped,
  hundredths,
  hundredthsText,
  isNextToNothing,
  knownText,
  shareText,
  sizeText,
  stepText,
  timeStepText,
  unbroken,
} from "../../src/parts/units";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

describe("sizes", () => {
  it("have the unit that suits them and two decimals", () => {
    expect(sizeText(0)).toBe("0 B");
    expect(sizeText(1023)).toBe("1023 B");
    expect(sizeText(1024)).toBe("1.00 KiB");
    expect(sizeText(20 * MiB)).toBe("20.00 MiB");
    expect(sizeText(2 * GiB)).toBe("2.00 GiB");
    expect(sizeText(1.5 * GiB)).toBe("1.50 GiB");
  });

  it("are rounded half up, in integers", () => {
    // 0.005 GiB is 5368709.12 bytes: 5368709 is below it, 5368710 above.
    expect(hundredths(5368709)).toBe(0n);
    expect(hundredths(5368710)).toBe(1n);
    expect(hundredths(-5368709)).toBe(0n);
    expect(hundredths(-5368710)).toBe(-1n);
  });

  it("stay exact beyond what a double holds", () => {
    expect(sizeText("18446744073709551615")).toBe("17179869184.00 GiB");
    expect(exactText("18446744073709551615")).toBe("18,446,744,073,709,551,615 B");
    for (const k of Array.from({ length: 400 }, (_, at) => 1n + BigInt(at) * 999_983n)) {
      // The least number that is rounded to k hundredths.
      const least = Number((k * 2n ** 30n - 2n ** 29n + 99n) / 100n);
      expect([hundredths(least), hundredths(least - 1)]).toEqual([k, k - 1n]);
    }
  });

  it("are in GiB as amounts unless that would show next to nothing", () => {
    expect(amountText(0)).toBe("0 B");
    expect(amountText(64 * MiB)).toBe("64.00 MiB");
    expect(amountText(128 * MiB)).toBe("0.13 GiB");
    expect(amountText(-64 * MiB)).toBe("−64.00 MiB");
    expect(amountText(-2 * GiB)).toBe("−2.00 GiB");
    expect(isNextToNothing(0)).toBe(false);
    expect(isNextToNothing(1)).toBe(true);
    // 0.095 GiB and above prints as 0.10.
    expect(isNextToNothing(102005473)).toBe(true);
    expect(isNextToNothing(102005474)).toBe(false);
  });

  it("that are not known are said to be, and never 0", () => {
    expect(knownText(null)).toBe("not known");
    expect(knownText(undefined)).toBe("not known");
    expect(knownText(NaN)).toBe("not known");
    expect(knownText(0)).toBe("0 B");
    expect(exactText(null)).toBe("not known");
  });

  it("of a difference have their sign", () => {
    expect(changeText(GiB)).toBe("+1.00 GiB");
    expect(changeText(-GiB)).toBe("−1.00 GiB");
    expect(changeText(0)).toBe("0 B");
  });

  it("on an axis are whole numbers of a unit", () => {
    expect([0, 1, 1024, 128 * MiB, 2 * GiB, 1024 * GiB].map(stepText)).toEqual(["0", "1 B", "1 KiB", "128 MiB", "2 GiB", "1,024 GiB"]);
    expect(stepText(-128 * MiB)).toBe("−128 MiB");
  });
});

describe("other numbers", () => {
  it("are grouped by thousands", () => {
    expect(grouped(0)).toBe("0");
    expect(grouped(999)).toBe("999");
    expect(grouped(1048576)).toBe("1,048,576");
    expect(grouped(-1234)).toBe("−1,234");
    expect(grouped("18446744073709551615")).toBe("18,446,744,073,709,551,615");
  });

  it("of things agree with them", () => {
    expect(counted(1, "step")).toBe("1 step");
    expect(counted("1", "step")).toBe("1 step");
    expect(counted(2000, "step")).toBe("2,000 steps");
    expect(counted(0, "step")).toBe("0 steps");
  });

  it("as hundredths keep two places and the sign below 1", () => {
    expect(hundredthsText(5n)).toBe("0.05");
    expect(hundredthsText(-5n)).toBe("−0.05");
    expect(hundredthsText(-123n)).toBe("−1.23");
  });

  it("of time go from nanoseconds to hours", () => {
    const durations_ns = [0, 999, 1500, 2500000, 12345000000, 3725000000000];
    expect(durations_ns.map(durationText)).toEqual(["0 ns", "999 ns", "1.50 µs", "2.50 ms", "12.345 s", "1:02:05"]);
    expect(durationText(-1500)).toBe("−1.50 µs");
  });

  it("of an axis of time have as many decimals as its steps need", () => {
    expect(timeStepText(1_255_500_000, 500_000)).toBe("1.2555 s");
    expect(timeStepText(3e9, 1e9)).toBe("3 s");
    expect(timeStepText(2_500_000, 500_000)).toBe("2.5 ms");
    expect(timeStepText(0, 1e8)).toBe("0.0 s");
  });

  it("stay with their unit at the end of a line", () => {
    expect(unbroken("5.31 GiB were free, 512 B of 3 Blocks")).toBe("5.31\u00a0GiB were free, 512\u00a0B of 3 Blocks");
  });

  it("of a share are percent, and a small one is not 0", () => {
    expect(shareText(1, 3)).toBe("33.3 %");
    expect(shareText(1, 100000)).toBe("< 0.1 %");
    expect(shareText(0, 10)).toBe("0.0 %");
    expect(shareText(1, 0)).toBe("");
  });
});

it("a change between two amounts is that of what is shown of them, and never nothing where something changed", () => {
  const GiB = 2 ** 30;
  const [before, after] = [Math.round(7.6751 * GiB), Math.round(5.6749 * GiB)];
  expect([knownText(before), knownText(after)]).toEqual(["7.68 GiB", "5.67 GiB"]);
  expect(changeText(after - before)).toBe("−2.00 GiB");
  expect(changeBetween(before, after)).toBe("−2.01 GiB");
  expect(changeBetween(7 * GiB, 7 * GiB + 2 ** 20)).toBe("+1.00 MiB");
  expect(changeBetween(5, 5)).toBe("0 B");
  expect(changeBetween(0, "4611686018427387904")).toBe("+4294967296.00 GiB");
});
