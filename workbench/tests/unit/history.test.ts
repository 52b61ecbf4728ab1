// SPDX-License-Identifier: Apache-2.0
//
// What blocks, answers and reports come to over a few rows. The rule: each expected number is worked out by hand.
import { describe, expect, test } from "vitest";
import type { Lane } from "../../src/history/history";
import { broken, historyOf, lane } from "../support/made_history";
import { block, freed, type MadeRow, MiB, ok } from "../support/made_incident";

describe("blocks", () => {
  test("live blocks add up, also where a free names no block", async () => {
    const history = await historyOf([
      block(0, 0, 512, null, null),
      block(1, 512, 1024, null, null),
      freed(2, 0, 0, 512, null, null),
      freed(3, null, 99 * MiB, 512, null, null),
    ]);
    expect(lane(history, "active")).toEqual([512, 1536, 1024, 1024]);
    expect(broken(history)).toEqual(["free_unmatched 1 from 3"]);
  });

  test("a block on a live one ends it, and that is said", async () => {
    const history = await historyOf([
      block(0, 0, 1024, null, null),
      block(1, 0, 512, null, null),
      block(2, 4096, 4096, null, null),
      block(3, 2048, 4096, null, null),
    ]);
    expect(lane(history, "active")).toEqual([1024, 512, 512 + 4096, 512 + 4096]);
    expect(broken(history)).toEqual(["block_live_twice 1 from 1", "block_overlap 1 from 3"]);
    expect([...history.lives.death]).toEqual([1, 4, 3, 4]);
  });

  test("a block that spans several live ones ends all of them", async () => {
    const rows = [0, 1, 2, 3].map((at) => block(at, at * 1024, 1024, null, null));
    const history = await historyOf([...rows, block(4, 512, 3072, null, null)]);
    expect(lane(history, "active").at(-1)).toBe(3072);
  });

  test.each([0, 100, 2 ** 53 - 512 + 1])("a size of %d is no block's", async (size) => {
    const history = await historyOf([block(0, 0, size, null, null)]);
    expect([lane(history, "active"), broken(history)]).toEqual([[0], ["block_size 1 from 0"]]);
  });

  test("a block on no device counts nowhere", async () => {
    const history = await historyOf([block(0, 0, 512, null, null, { device: null }), block(1, 512, 512, null, null, { device: 3 })]);
    expect([lane(history, "active"), lane(history, "active", 3), history.lives.device[0]]).toEqual([[0, 0], [0, 512], -1]);
  });

  test("from a number beyond a double on a device's sums are not known, and that is said", async () => {
    const rows = [
      block(0, 0, 512, null, null),
      block(1, 512, null as unknown as number, null, null),
      block(2, 4096, 512, null, null),
      block(3, 0, 512, null, null, { device: 1 }),
    ];
    const history = await historyOf(rows);
    expect([lane(history, "active"), lane(history, "active", 1)]).toEqual([
      [512, NaN, NaN, NaN],
      [0, 0, 0, 512],
    ]);
    expect(history.limits.map((it) => it.column)).toEqual(["device 0"]);
  });

  test("a sum beyond 2^53 is not known either", async () => {
    const size = 2 ** 52;
    const history = await historyOf([
      block(0, 0, size, null, null),
      block(1, size, size, null, null, {}),
      block(2, 0, 512, null, null, { device: 1 }),
    ]);
    expect(lane(history, "active")).toEqual([size, NaN, NaN]);
    expect(history.limits).toEqual([{ column: "device 0", why: "a sum beyond 2^53: sums are not known from there on" }]);
  });
});

test("a sum of two sums beyond 2^53 is not known, each of them is", async () => {
  const size = 2 ** 52;
  const tap: MadeRow = { kind: "tap_free_requested", object: "block", ticket: 1, place_bytes: 0 };
  const history = await historyOf([block(0, 0, size, null, null), tap, freed(2, 0, 0, size, null, null), block(3, size, size, null, null)]);
  expect([lane(history, "active").at(-1), lane(history, "allocated").at(-1), lane(history, "deferred").at(-1)]).toEqual([NaN, size, size]);
});

test("free bytes are never below 0, and outside bytes leave out what is reserved", async () => {
  const answer: MadeRow = { kind: "mem_info", ticket: 2, device_total_bytes: 1000, device_free_bytes: 300, allocated_bytes: 0, reserved_bytes: 100 };
  const history = await historyOf([
    block(0, 0, 512, null, null),
    ok("cudaMalloc", "device", 1, 64 * MiB, MiB),
    answer,
    { ...answer, ticket: 3, reserved_bytes: 800 },
    { ...answer, ticket: 4, reserved_bytes: null },
  ]);
  expect([...history.ledger("free_bytes")]).toEqual([0, 0, 0, 0, 0]);
  expect([...history.ledger("outside_bytes")]).toEqual([NaN, NaN, 600, 0, 700]);
});

test("a device that nothing was said of has nothing", async () => {
  const history = await historyOf([
    { kind: "try_call", ticket: 0, device: 1 },
    { kind: "step", ticket: 1, device: null },
  ]);
  expect([[...history.ledger("active_bytes")], [...history.ledger("deferred_bytes")]]).toEqual([
    [0, NaN],
    [NaN, NaN],
  ]);
});

describe("frees that the allocator waits for", () => {
  const tap = (kind: string, ticket: number, place: number, more: MadeRow = {}): MadeRow => ({
    kind,
    object: "block",
    ticket,
    place_bytes: place,
    ...more,
  });

  test("from the free to its completion a block is deferred", async () => {
    const history = await historyOf([
      block(0, 0, 512, null, null),
      block(1, 512, 512, null, null),
      tap("tap_free_requested", 2, 0),
      freed(3, 0, 0, 512, null, null),
      tap("tap_free_requested", 4, 512),
      tap("tap_free_completed", 5, 512),
      freed(6, 1, 512, 512, null, null),
      tap("tap_free_completed", 7, 0),
    ]);
    expect(lane(history, "deferred")).toEqual([0, 0, 0, 512, 512, 512, 512, 0]);
    expect(lane(history, "active")).toEqual([512, 1024, 1024, 1024, 1024, 1024, 512, 0]);
    expect([...history.ledger("deferred_bytes")]).toEqual([NaN, NaN, 0, 512, 512, 512, 512, 0]);
    expect([...history.lives.deferredUntil]).toEqual([7, 6]);
    expect([...history.scene(0, 6).deferred]).toEqual([0]);
  });

  test("one asked for before the window stays asked for", async () => {
    const history = await historyOf(
      [freed(5, 1, 0, 512, null, null)],
      [
        { state: "tap", device: null },
        { state: "free_requested", place_bytes: 0 },
        { object: "block", state: "block", allocation: 1, place_bytes: 0, size_bytes: 512 },
      ],
    );
    expect([lane(history, "deferred"), history.scene(0, -1).tapSeen]).toEqual([[512], true]);
  });
});

describe("categories", () => {
  const told = (ticket: number, place: number, code: number, more: MadeRow = {}): MadeRow => ({
    kind: "category",
    object: "block",
    ticket,
    place_bytes: place,
    code,
    ...more,
  });

  test("a block has what it was told last, until it is freed", async () => {
    const history = await historyOf([
      block(0, 0, 1024, null, null),
      told(1, 1023, 1),
      told(2, 1024, 2),
      told(3, 0, 6),
      told(4, 0, 7),
      told(5, 0, 2, { device: 1 }),
      freed(6, 0, 0, 1024, null, null),
      block(7, 0, 1024, null, null),
    ]);
    expect(lane(history, "category:parameter")).toEqual([0, 1024, 1024, 0, 0, 0, 0, 0]);
    expect(lane(history, "category:activation")).toEqual([0, 0, 0, 1024, 1024, 1024, 0, 0]);
    expect([0, 1, 3].map((row) => history.categoryOf(0, row))).toEqual(["unknown", "parameter", "activation"]);
    expect(history.categoryOf(1, 7)).toBe("unknown");
  });
});

describe("what the device answered", () => {
  const answer = (ticket: number, total: number, left: number): MadeRow => ({
    kind: "mem_info",
    ticket,
    device_total_bytes: total,
    device_free_bytes: left,
  });
  const sample = (ticket: number, others: number): MadeRow => ({ kind: "process_sample", ticket, others_bytes: others, size_bytes: 1 });

  test("a lane knows an answer from its own row on, the ledger's column from the row behind it", async () => {
    const history = await historyOf([
      ok("cudaMalloc", "device", 0, 0, 100, { flags: 0 }),
      answer(1, 1000, 850),
      ok("cudaMalloc", "device", 2, 4096, 50, { flags: 0 }),
      answer(3, 1000, 790),
    ]);
    expect(lane(history, "unattributed")).toEqual([NaN, 50, 50, 60]);
    expect([...history.ledger("unattributed_bytes")]).toEqual([NaN, NaN, 50, 50]);
    expect([...history.ledger("expected_free_bytes")]).toEqual([NaN, NaN, 800, 800]);
    expect(lane(history, "used")).toEqual([NaN, 150, 200, 210]);
    expect([0, 1, 2, 3].map((row) => history.laneAt(0, "used", row))).toEqual([NaN, 150, 200, 210]);
  });

  test("what is said of others only after an answer does not count until the next", async () => {
    const history = await historyOf([answer(0, 1000, 900), sample(1, 30), answer(2, 1000, 900), sample(3, 40)]);
    expect(lane(history, "other_processes")).toEqual([NaN, NaN, 30, 40]);
    expect([...history.ledger("other_processes_bytes")]).toEqual([NaN, NaN, NaN, 40]);
    expect([...history.ledger("unattributed_bytes")]).toEqual([NaN, 100, 100, 70]);
  });

  test("before the first answer a sample counts in the answer's own row too", async () => {
    expect([...(await historyOf([sample(0, 30), answer(1, 1000, 900)])).ledger("other_processes_bytes")]).toEqual([30, 30]);
  });

  test("an answer of before the window counts in it", async () => {
    const history = await historyOf(
      [{ kind: "step", ticket: 50 }],
      [
        { state: "totals", size_bytes: 300, allocation: 7 },
        { state: "gap", size_bytes: -20 },
        { state: "answer", size_bytes: 1000, allocation: 9 },
        { state: "residual", size_bytes: 65 },
        { state: "others_then", size_bytes: 5 },
        { state: "others", size_bytes: 8 },
      ],
    );
    expect(["reserved", "unattributed", "other_processes", "expected_free", "used"].map((name) => history.laneAt(0, name as Lane, -1))).toEqual([
      -20, 60, 8, 952, 48,
    ]);
    expect(history.ledger("expected_free_bytes")[0]).toBe(952);
  });
});

test("reported totals that move against the blocks are said, from the first report on", async () => {
  const history = await historyOf([
    block(0, 0, 512, 1024, 2048),
    block(1, 512, 512, 1536, 2048),
    block(2, 1024, 512, 2048, 1024),
    block(3, 2048, 512, 9999, 99999),
  ]);
  expect(broken(history)).toEqual(["totals_allocated 2 from 0", "totals_reserved 1 from 2"]);
});

test("what the first report behind missing rows moved by is not known, and nothing is said of it", async () => {
  const begin: MadeRow[] = [
    { state: "totals", size_bytes: 4096, allocation: 1 },
    { state: "gap", size_bytes: 4096 },
  ];
  const rows = [block(5, 0, 512, 9999, 99999), block(6, 512, 512, 512, 99999)];
  expect(broken(await historyOf(rows, begin))).toEqual(["totals_allocated 1 from 1"]);
  expect(broken(await historyOf(rows))).toEqual(["totals_allocated 2 from 0"]);
});

test("the peak is that of live blocks up to the failure, the first of equals, and may be before the first row", async () => {
  const begin: MadeRow[] = [{ object: "block", state: "block", allocation: 1, place_bytes: 0, size_bytes: 4096 }];
  const rows = [
    freed(10, 1, 0, 4096, null, null),
    block(11, 0, 4096, null, null),
    { kind: "block_oom", ticket: 12 },
    block(13, 8192, 4096, null, null),
  ];
  expect((await historyOf(rows, begin, { ticket: 12, device: 0 })).peakRow(0)).toBe(-1);
  expect((await historyOf(rows, begin)).peakRow(0)).toBe(3);
  expect((await historyOf(rows.slice(1), [], { ticket: 12, device: 0 })).peakRow(0)).toBe(0);
  expect((await historyOf(rows, begin, { ticket: 12, device: 0 })).failureRow).toBe(2);
  expect((await historyOf(rows, begin, { ticket: 5, device: 0 })).failureRow).toBe(null);
});

test("rows and lives are found by ticket, where tickets are missing too", async () => {
  const history = await historyOf(
    [block(10, 0, 512, null, null), block(20, 512, 512, null, null)],
    [{ object: "block", state: "block", allocation: 3, place_bytes: 4096, size_bytes: 512 }],
  );
  expect([5, 10, 15, 20, 99].map((ticket) => history.rowOf(ticket))).toEqual([-1, 0, 0, 1, 1]);
  expect([3, 10, 15, 20].map((ticket) => history.lifeOf(ticket))).toEqual([0, 1, -1, 2]);
});

test("what was asked for is known of a block whose tap_alloc came before it, and of no other", async () => {
  const tapAlloc = (ticket: number, place: number, size: number): MadeRow => ({
    kind: "tap_alloc",
    object: "block",
    ticket,
    place_bytes: place,
    size_bytes: size,
  });
  const history = await historyOf([
    tapAlloc(0, 0, 500),
    block(1, 0, 512, null, null),
    block(2, 512, 512, null, null),
    freed(3, 1, 0, 512, null, null),
    block(4, 0, 512, null, null),
  ]);
  expect([...history.lives.requested]).toEqual([500, NaN, NaN]);
});
