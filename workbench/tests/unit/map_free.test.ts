// SPDX-License-Identifier: Apache-2.0
//
// What a free extent is to a request (VERDICT.md §3), case by case.
import { describe, expect, it } from "vitest";
import { compatibility, freeClass, sumFree, type Asked } from "../../src/history/compatibility";
import type { Extent, Scene, Segment } from "../../src/history/history";

const MiB = 2 ** 20;
const segment = (change: Partial<Segment> = {}): Segment => ({
  place: 0,
  size: 20 * MiB,
  ticket: 1,
  kind: "native",
  granule: 20 * MiB,
  sizeClass: "large",
  ordinal: 0,
  stream: null,
  pool: null,
  ...change,
});
const extent = (size: number, of = 0): Extent => ({ segment: of, place: 0, size });
const asked = (change: Partial<Asked> = {}): Asked => ({ size_bytes: 4 * MiB, stream: null, pool: null, privatePools: false, ...change });

describe("a free extent and a request", () => {
  it("do not fit together in another size class", () => {
    expect(compatibility(extent(2 * MiB), segment({ sizeClass: "small" }), asked())).toBe("incompatible");
    expect(compatibility(extent(2 * MiB), segment({ sizeClass: "small" }), asked({ size_bytes: MiB }))).toBe("unknown");
    expect(compatibility(extent(2 * MiB), segment(), asked({ size_bytes: MiB }))).toBe("incompatible");
    expect(compatibility(extent(2 * MiB), segment({ sizeClass: "unknown" }), asked())).toBe("unknown");
  });

  it("do not fit together in another stream or pool, where both are known", () => {
    expect(compatibility(extent(MiB), segment({ stream: 1 }), asked({ stream: 2 }))).toBe("incompatible");
    expect(compatibility(extent(MiB), segment({ pool: 1 }), asked({ pool: 2 }))).toBe("incompatible");
    expect(compatibility(extent(MiB), segment({ stream: 1 }), asked())).toBe("unknown");
    expect(compatibility(extent(MiB), segment({ stream: 1, pool: 0 }), asked({ stream: 1, pool: 0 }))).toBe("compatible");
  });

  it("do not fit together when the segment is wholly free and the failing operation gave back every other such one", () => {
    const whole = extent(20 * MiB);
    expect(compatibility(whole, segment(), asked({ privatePools: true }))).toBe("incompatible");
    expect(compatibility(whole, segment(), asked())).toBe("unknown");
    expect(compatibility(extent(19 * MiB), segment(), asked({ privatePools: true }))).toBe("unknown");
    expect(compatibility(whole, segment({ kind: "expandable" }), asked({ privatePools: true }))).toBe("unknown");
    expect(compatibility(whole, segment({ pool: 0 }), asked({ privatePools: true }))).toBe("unknown");
  });

  it("are reusable from the request's size on, and always without a request", () => {
    expect(freeClass(extent(4 * MiB), segment(), asked())).toBe("reusable");
    expect(freeClass(extent(4 * MiB - 512), segment(), asked())).toBe("fragmented");
    expect(freeClass(extent(512), segment({ sizeClass: "small" }), null)).toBe("reusable");
  });

  it("come to sums by class, and the largest one is one that may be used", () => {
    const segments = [segment(), segment({ sizeClass: "small" })];
    const free = [extent(3 * MiB), extent(9 * MiB, 1), extent(6 * MiB), extent(6 * MiB)];
    const sums = sumFree({ segments, free } as unknown as Scene, asked());
    expect([sums.reusable, sums.fragmented, sums.incompatible]).toEqual([12 * MiB, 3 * MiB, 9 * MiB]);
    expect([sums.largest, [...sums.classes]]).toEqual([2, [1, 2, 0, 0]]);
    expect(sumFree({ segments, free: [] } as unknown as Scene, asked()).largest).toBeNull();
  });
});
