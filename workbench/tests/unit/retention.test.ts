// SPDX-License-Identifier: Apache-2.0
//
// Why a site with live bytes is no survivor site, and what the receipt's growth reads as.
import { expect, test } from "vitest";
import type { Evidence } from "../../src/data/receipt";
import { intervalWord, judgesSites, pointsOf, spacingOf, spacingText, survivorsOf, unjudgedOf } from "../../src/views/retention_evidence";

// Points b₁ … b₆ at 100 … 600; steps 2, 3 and 4 can be judged, which are those that begin at 200, 300 and 400.
function evidence(
  blocks: [site: number, ticket: number | null, size: number][],
  survivors: number[] = [],
  tickets = [100, 200, 300, 400, 500, 600],
): Evidence {
  return {
    growth: {
      basis: "marked",
      family: "step",
      boundary_count: tickets.length,
      growing_pairs_count: 0,
      retained_bytes: 0,
      retained_is_bound: false,
      points: {
        columns: ["ticket", "active_bytes", "reserved_bytes", "device_free_bytes"],
        rows: tickets.map((ticket) => [ticket, ticket * 2, ticket * 3, null]),
      },
      survivors: survivors.map((site) => ({ site })),
    },
    extents: {
      columns: ["segment", "offset_bytes", "size_bytes", "class", "kind", "state", "compatibility", "site", "allocation"],
      rows: blocks.map(([site, ticket, size]) => [0, 0, size, "large", "native", ticket === null ? "free" : "live", "in_use", site, ticket]),
    },
  } as unknown as Evidence;
}

test("blocks that were there before the recording have no step that anybody knows", () => {
  const reason = (...tickets: number[]) => {
    const told = evidence(tickets.map((ticket) => [1, ticket, 512]));
    Object.assign(told.growth!, { births_known_from_ticket: 120 });
    return unjudgedOf(told)[0].reason;
  };
  expect(reason(5, 119)).toContain("before the recording");
  expect(reason(5, 120)).toContain("before the second point");
});

const reasonOf = (...tickets: number[]) => unjudgedOf(evidence(tickets.map((ticket) => [1, ticket, 512])))[0].reason;

test("blocks born up to the second point are start and warming up", () => {
  expect(reasonOf(5, 150, 200)).toContain("before the second point");
});

test("blocks born after the last point but one belong to a step that is not over", () => {
  expect(reasonOf(501, 600, 700)).toContain("after the last point but one");
});

test("blocks on either side of the judged steps are said to be", () => {
  expect(reasonOf(5, 700)).toBe("born before the second point or after the last but one");
});

test("survivors in too few judged steps are counted by step", () => {
  expect(reasonOf(201)).toContain("in 1 of the judged steps");
  expect(reasonOf(250, 300)).toContain("in 1 of the judged steps");
  expect(reasonOf(250, 260, 350)).toContain("in 2 of the judged steps");
});

test("what outlived an earlier failure is said to be kept since then, not to lie in too few steps", () => {
  expect(reasonOf(201, 301, 401)).toContain("before an earlier failure");
  expect(reasonOf(201, 300, 301, 500, 7)).toContain("before an earlier failure");
});

test("with a basis by which no step is judged no site has a reason of its own", () => {
  for (const basis of ["too_few", "lapped"]) {
    const told = evidence([[1, 250, 512]]);
    expect(unjudgedOf(told)).toHaveLength(1);
    Object.assign(told.growth!, { basis });
    expect(unjudgedOf(told)).toEqual([]);
    expect(judgesSites(told)).toBe(false);
  }
});

test("survivor sites and what is free are not listed, the others by their bytes", () => {
  const listed = unjudgedOf(
    evidence(
      [
        [1, 50, 512],
        [2, 50, 2048],
        [3, 50, 4096],
        [4, null, 8192],
        [1, 60, 2048],
      ],
      [3],
    ),
  );
  expect(listed.map((one) => [one.site, one.bytes])).toEqual([
    [1, 2560],
    [2, 2048],
  ]);
});

test("with too few points no site has a reason of its own", () => {
  expect(unjudgedOf(evidence([[1, 50, 512]], [], [100, 200, 300]))).toEqual([]);
});

test("points and survivors are read from the receipt's members", () => {
  const told = evidence([], [7]);
  expect(pointsOf(told)[1]).toEqual({ ticket: 200, active_bytes: 400, reserved_bytes: 600 });
  expect(survivorsOf(told).map((one) => one.site)).toEqual([7]);
  expect(pointsOf({ growth: null } as unknown as Evidence)).toEqual([]);
});

test("points of every third step are called so, and what lies between them is no step", () => {
  const points = pointsOf(evidence([]));
  const third = spacingOf(points, (ticket) => (ticket / 100) * 3);
  expect(third).toEqual({ least: 3, greatest: 3, steps: 15 });
  expect([intervalWord(third), spacingText(third!)]).toEqual(["point", expect.stringContaining("3 steps apart each, 15 steps in all")]);
  const uneven = spacingOf(points, (ticket) => [0, 1, 2, 5, 6, 8][ticket / 100 - 1]);
  expect([uneven, intervalWord(uneven)]).toEqual([{ least: 1, greatest: 3, steps: 8 }, "point"]);
});

test("points of every step are steps; points whose step is not known, or that share one, are not counted in steps", () => {
  const points = pointsOf(evidence([]));
  const every = spacingOf(points, (ticket) => ticket / 100);
  expect([intervalWord(every), spacingText(every!)]).toEqual(["step", "Each is one step after the one before it."]);
  expect(spacingOf(points, (ticket) => (ticket === 300 ? null : ticket / 100))).toBeNull();
  expect(spacingOf(points, () => 0)).toBeNull();
  expect(spacingOf([], () => 0)).toBeNull();
  expect(intervalWord(null)).toBe("point");
});
