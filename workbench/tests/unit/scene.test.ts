// SPDX-License-Identifier: Apache-2.0
//
// One device at one instant: segments, free extents, what lies where. The rule: a scene and a lane never say two things.
import { describe, expect, test } from "vitest";
import { Ordered } from "../../src/history/ordered";
import { Steps } from "../../src/history/steps";
import { historyOf } from "../support/made_history";
import { block, free, freed, type MadeRow, MiB, ok } from "../support/made_incident";

const page = (ticket: number, place: number, size = 20) => ok("cuMemMap", "mapping", ticket, place * MiB, size * MiB);

describe("segments at an instant", () => {
  test("free extents are what no live or waiting block covers, and begin and end with the segment", async () => {
    const history = await historyOf([
      ok("cudaMalloc", "device", 0, 0, 20 * MiB),
      block(1, 0, MiB, null, null),
      block(2, 4 * MiB, MiB, null, null),
      block(3, 19 * MiB, MiB, null, null),
      freed(4, 2, 4 * MiB, MiB, null, null),
    ]);
    const free = (row: number) => history.scene(0, row).free.map((it) => [it.segment, it.place / MiB, it.size / MiB]);
    expect(free(0)).toEqual([]); // a candidate is no segment yet
    expect(free(3)).toEqual([
      [0, 1, 3],
      [0, 5, 14],
    ]);
    expect(free(4)).toEqual([[0, 1, 18]]);
    expect([...history.scene(0, 3).blocks].map((life) => history.lives.place[life] / MiB)).toEqual([0, 4, 19]);
  });

  test("contiguous mappings are one segment, which a hole cuts in two, and its ordinals follow the places", async () => {
    const history = await historyOf([
      page(0, 40),
      page(1, 20),
      page(2, 60),
      page(3, 80, 2),
      free("cuMemUnmap", 0, { ticket: 4 }),
      free("cuMemUnmap", 1, { ticket: 5 }),
    ]);
    const segments = (row: number) => history.scene(0, row).segments.map((it) => [it.ordinal, it.place / MiB, it.size / MiB, it.granule / MiB]);
    expect(segments(0)).toEqual([[0, 40, 20, 20]]);
    expect(segments(3)).toEqual([[0, 20, 62, 20]]);
    expect(segments(4)).toEqual([
      [0, 20, 20, 20],
      [1, 60, 22, 20],
    ]);
    expect(segments(5)).toEqual([[0, 60, 22, 20]]);
    expect([...history.lives.death]).toEqual([4, 5, 6, 6]);
  });

  test("what is left of the lower end has the granule of its own lowest mapping", async () => {
    const history = await historyOf([page(0, 20, 20), page(1, 40, 2), free("cuMemUnmap", 0, { ticket: 2 })]);
    expect(history.scene(0, 2).segments.map((it) => [it.granule / MiB, it.sizeClass])).toEqual([[2, "small"]]);
  });

  test("mappings of two devices are two segments", async () => {
    const history = await historyOf([page(0, 20), { ...page(1, 40), device: 1 }]);
    expect([history.scene(0, 1).segments.length, history.scene(1, 1).segments[0].ordinal]).toEqual([1, 0]);
  });

  test.each<[string, MadeRow[], string]>([
    ["native of 2 MiB", [ok("cudaMalloc", "device", 0, 0, 2 * MiB), block(1, 0, 512, null, null)], "small"],
    ["native of 4 MiB", [ok("cudaMalloc", "device", 0, 0, 4 * MiB), block(1, 0, 512, null, null)], "large"],
    ["a large block in 2 MiB", [ok("cudaMalloc", "device", 0, 0, 2 * MiB), block(1, 0, 2 * MiB, null, null)], "large"],
    ["pages of 2 MiB", [page(0, 0, 2), block(1, 0, MiB, null, null)], "small"],
    ["pages of 2 MiB with a large block", [page(0, 0, 2), page(1, 2, 2), block(2, 0, 2 * MiB, null, null)], "large"],
    ["pages of 20 MiB", [page(0, 0, 20), block(1, 0, 512, null, null)], "large"],
    ["pages of another size", [page(0, 0, 6), block(1, 0, 512, null, null)], "unknown"],
  ])("size class: %s", async (_name, rows, expected) => {
    const history = await historyOf(rows);
    expect(history.scene(0, rows.length - 1).segments.map((it) => it.sizeClass)).toEqual([expected]);
  });

  test("a large block in an upper page makes the whole segment large, as it grows downwards too", async () => {
    const history = await historyOf([
      page(0, 2, 2),
      page(1, 4, 2),
      block(2, 2 * MiB, 2 * MiB, null, null),
      page(3, 0, 2),
      free("cuMemUnmap", 0, { ticket: 4 }),
    ]);
    expect(history.scene(0, 3).segments.map((it) => it.sizeClass)).toEqual(["large"]);
    expect(history.scene(0, 4).segments.map((it) => it.sizeClass)).toEqual(["large", "large"]);
  });

  test("a region on an expandable segment ends all its pages", async () => {
    const history = await historyOf([page(0, 20), page(1, 40), ok("cudaMalloc", "device", 2, 30 * MiB, MiB)]);
    expect([[...history.lives.death], history.scene(0, 2).segments]).toEqual([[2, 2, 3], []]);
  });

  test("stream and pool are as last told, of each page the segment it was part of", async () => {
    const tell = (ticket: number, place: number, stream: number | null, pool: number | null): MadeRow => ({
      kind: "tap_segment_map",
      object: "mapping",
      ticket,
      place_bytes: place * MiB,
      stream,
      pool,
    });
    const history = await historyOf([page(0, 20), tell(1, 20, 1, 1), page(2, 40), tell(3, 41, 2, null), tell(4, 99, 7, 7), page(5, 0)]);
    const told = (row: number) => history.scene(0, row).segments.map((it) => [it.stream, it.pool]);
    expect([0, 1, 2, 3, 4, 5].map((row) => told(row)[0])).toEqual([
      [null, null],
      [1, 1],
      [1, 1],
      [2, null],
      [2, null],
      [2, null],
    ]);
  });

  test("what was there before is there before the first row", async () => {
    const history = await historyOf(
      [freed(9, 2, MiB, MiB, null, null)],
      [
        {
          object: "device",
          op: "cudaMalloc",
          state: "segment",
          segment_kind: "native",
          large: 1,
          stream: 4,
          pool: 2,
          allocation: 1,
          place_bytes: 0,
          size_bytes: 2 * MiB,
          from_torch: 1,
        },
        {
          object: "device",
          op: "cudaMalloc",
          state: "direct",
          segment_kind: "native",
          large: 0,
          allocation: 3,
          place_bytes: 64 * MiB,
          size_bytes: MiB,
          from_torch: 1,
        },
        {
          object: "block",
          state: "block",
          category: "gradient",
          allocation: 2,
          place_bytes: MiB,
          size_bytes: MiB,
          site: 5,
          step: 3,
          phase: 2,
          requested_bytes: 1000,
        },
        { object: "block", state: "deferred", place_bytes: 0, size_bytes: MiB },
      ],
    );
    const scene = history.scene(0, -1);
    expect([scene.activeBytes, scene.segmentBytes, scene.directBytes, scene.blocks.length, scene.deferred.size]).toEqual([
      2 * MiB,
      2 * MiB,
      MiB,
      2,
      1,
    ]);
    expect([scene.segments[0].stream, scene.segments[0].pool, scene.segments[0].sizeClass]).toEqual([4, 2, "large"]);
    const life = history.lifeOf(2);
    expect([
      history.categoryOf(life, -1),
      history.lives.site[life],
      history.lives.step[life],
      history.lives.phase[life],
      history.lives.requested[life],
    ]).toEqual(["gradient", 5, 3, 2, 1000]);
    expect([history.scene(0, 0).activeBytes, history.laneAt(0, "active", 0), history.laneAt(0, "category:gradient", 0)]).toEqual([MiB, MiB, 0]);
  });
});

test("scenes and lanes say the same at every row of a long random history", async () => {
  let state = 7;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const rows: MadeRow[] = [];
  const live: { ticket: number; slot: number; device: number }[] = [];
  const taken = new Set<number>();
  for (let ticket = 0; ticket < 1500; ++ticket) {
    const slot = random(300);
    const device = slot % 2;
    if (random(5) === 0 && live.length > 0) {
      const [gone] = live.splice(random(live.length), 1);
      taken.delete(gone.slot);
      rows.push(freed(ticket, gone.ticket, gone.slot * MiB, MiB, null, null, { device: gone.device }));
    } else if (random(8) === 0) {
      rows.push(ok("cudaMalloc", "device", ticket, slot * MiB, MiB * (1 + random(3)), { device, flags: random(2) * 4, library: 1 }));
    } else {
      rows.push(block(ticket, slot * MiB, MiB, null, null, { device }));
      if (taken.has(slot))
        live.splice(
          live.findIndex((it) => it.slot === slot),
          1,
        );
      taken.add(slot);
      live.push({ ticket, slot, device });
    }
  }
  const history = await historyOf(rows);
  const lanes = ["active", "segment", "candidate", "direct", "own_outside"] as const;
  for (const device of [0, 1]) {
    const [active, segment, candidate, direct, own] = lanes.map((it) => history.lane(device, it));
    for (let row = 0; row < rows.length; row += 13) {
      const scene = history.scene(device, row);
      const outside = [...history.outsideByLibrary(device, row).values()].reduce((sum, bytes) => sum + bytes, 0);
      expect([scene.activeBytes, scene.segmentBytes, scene.candidateBytes, scene.directBytes, outside]).toEqual([
        active[row],
        segment[row],
        candidate[row],
        direct[row],
        own[row],
      ]);
      const covered = scene.free.reduce((sum, it) => sum + it.size, 0);
      expect(covered).toBeLessThanOrEqual(scene.segmentBytes);
    }
  }
  expect(history.laneAt(0, "active", 1499)).toBe(live.filter((it) => it.device === 0).length * MiB);
});

test("blocks come by place, equal ones by birth, whatever their places are", async () => {
  const waiting: MadeRow[] = [];
  for (let at = 0; at < 60; ++at)
    waiting.push({ object: "block", state: "deferred", place_bytes: ((at * 37) % 20) * (at % 2 === 0 ? 512 : 2 ** 47 - 1), size_bytes: 512 });
  for (const rows of [waiting, waiting.filter((_, at) => at % 2 === 0)]) {
    const history = await historyOf([{ kind: "step", ticket: 99 }], rows);
    const { place } = history.lives;
    const sorted = rows.map((_, life) => life).sort((a, b) => place[a] - place[b] || a - b);
    expect([...history.scene(0, -1).blocks]).toEqual(sorted);
  }
});

test("numbers by place are found as a sorted list has them", () => {
  const [ordered, plain] = [new Ordered(), new Map<number, number>()];
  const spot = { place: 0, value: 0 };
  for (let at = 0; at < 6000; ++at) {
    const place = (at * 7919) % 2003;
    if (at % 3 === 2 || at > 5000) {
      ordered.delete(place);
      plain.delete(place);
    } else {
      ordered.set(place, at);
      plain.set(place, at);
    }
    if (at % 4 !== 0) continue;
    const wanted = at % 8 === 0 ? place : (at * 104729) % 2010;
    const keys = [...plain.keys()];
    const before = Math.max(-1, ...keys.filter((it) => it <= wanted));
    const after = Math.min(Infinity, ...keys.filter((it) => it > wanted));
    expect([ordered.size, ordered.get(wanted)]).toEqual([plain.size, plain.get(wanted) ?? -1]);
    expect([ordered.before(wanted, spot), spot.value]).toEqual([before >= 0, plain.get(before) ?? -1]);
    expect([ordered.after(wanted, spot), spot.value]).toEqual([after < Infinity, plain.get(after) ?? -1]);
  }
  const seen: number[] = [];
  ordered.forEach((value, place) => seen.push(place, value));
  expect(seen).toEqual([...plain].sort(([a], [b]) => a - b).flat());
});

test("a step function keeps a row's last value, and is asked in any order or along the rows", () => {
  const steps = new Steps(0);
  for (const [row, value] of [
    [-1, 3],
    [2, 4],
    [2, 5],
    [7, 5],
    [9, NaN],
  ])
    steps.set(row, value);
  const expected = [0, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, NaN];
  const walk = steps.walk();
  const rows = expected.map((_, at) => at - 2);
  expect(rows.map((row) => steps.at(row))).toEqual(expected);
  expect(rows.map((row) => walk(row))).toEqual(expected);
});
