// SPDX-License-Identifier: Apache-2.0
//
// How regions settle, and whose physical memory is. The rule: each expected number is worked out by hand.
import { describe, expect, test } from "vitest";
import { broken, historyOf, lane } from "../support/made_history";
import { block, free, freed, type MadeRow, MiB, ok } from "../support/made_incident";

const kSegment_bytes = 20 * MiB;

describe("regions settle", () => {
  const malloc = (ticket: number, place: number, size = kSegment_bytes) => ok("cudaMalloc", "device", ticket, place, size);
  const report = (ticket: number, reserved: number): MadeRow => ({ kind: "block_oom", ticket, allocated_bytes: 0, reserved_bytes: reserved });

  test("a block in it makes a candidate a segment", async () => {
    const history = await historyOf([malloc(0, 0), block(1, 512, 512, null, null)]);
    expect([lane(history, "candidate"), lane(history, "segment")]).toEqual([
      [kSegment_bytes, 0],
      [0, kSegment_bytes],
    ]);
  });

  test("a report that rose by their sum makes all candidates segments", async () => {
    const history = await historyOf([report(0, 5 * MiB), malloc(1, 0), malloc(2, 64 * MiB), report(3, 45 * MiB)]);
    expect([lane(history, "segment").at(-1), lane(history, "reserved")]).toEqual([40 * MiB, [5, 25, 45, 45].map((it) => it * MiB)]);
  });

  test("a report that did not rise makes a candidate born since the last report a tensor of its own, and no older one", async () => {
    const history = await historyOf([malloc(0, 0), report(1, 7 * MiB), malloc(2, 64 * MiB), report(3, 7 * MiB)]);
    expect([lane(history, "direct"), lane(history, "candidate")]).toEqual([
      [0, 0, 0, kSegment_bytes],
      [kSegment_bytes, kSegment_bytes, 2 * kSegment_bytes, kSegment_bytes],
    ]);
    expect([...history.scene(0, 3).regions].map((life) => history.lives.ticket[life])).toEqual([0, 2]);
    expect(lane(history, "reserved")).toEqual([20, 27, 47, 47].map((it) => it * MiB));
  });

  test("a gap that is just their sum makes all candidates segments, however much it rose", async () => {
    const history = await historyOf([report(0, 5 * MiB), malloc(1, 0), report(2, 20 * MiB)]);
    expect([lane(history, "segment").at(-1), lane(history, "reserved").at(-1)]).toEqual([20 * MiB, 20 * MiB]);
  });

  test("without a gap every candidate is a tensor of its own, also before a second report", async () => {
    const history = await historyOf([malloc(0, 0), report(1, 0)]);
    expect([lane(history, "direct"), lane(history, "candidate")]).toEqual([
      [0, kSegment_bytes],
      [kSegment_bytes, 0],
    ]);
  });

  test("a report that rose by something else settles nothing", async () => {
    const history = await historyOf([report(0, 5 * MiB), malloc(1, 0), report(2, 8 * MiB)]);
    expect(lane(history, "candidate").at(-1)).toBe(kSegment_bytes);
  });

  test("a candidate whose free was refused is as old as it was", async () => {
    const history = await historyOf([
      malloc(0, 0),
      report(1, 7 * MiB),
      free("cudaFree", 0, { ticket: 2 }),
      { kind: "free_fail", op: "cudaFree", ticket: 3, allocation: 0 },
      report(4, 7 * MiB),
    ]);
    expect(lane(history, "candidate").at(-1)).toBe(kSegment_bytes);
  });

  test("a region without a device has that of the block in it", async () => {
    const history = await historyOf([{ ...malloc(0, 0), device: null }, block(1, 0, 512, null, null, { device: 2 })]);
    expect([lane(history, "segment", 2), history.lives.device[0]]).toEqual([[0, kSegment_bytes], 2]);
  });

  test("the end of an object whose region is gone leaves the region that lies there now", async () => {
    const history = await historyOf([malloc(0, 0), malloc(1, 0, 2 * kSegment_bytes), free("cudaFree", 0, { ticket: 2 })]);
    expect(lane(history, "candidate").map((it) => it / MiB)).toEqual([20, 40, 40]);
  });

  test("a call that only looks like a birth is none: the window does not know its object", async () => {
    expect(lane(await historyOf([{ ...malloc(0, 0), allocation: null }]), "candidate")).toEqual([0]);
  });

  test("what another library holds is outside until a block is reported in it", async () => {
    const history = await historyOf([
      ok("cudaMalloc", "device", 0, 0, kSegment_bytes, { flags: 0, library: 2 }),
      block(1, 512, 512, null, null),
      free("cudaFree", 0, { ticket: 2, flags: 0 }),
    ]);
    expect([lane(history, "own_outside"), lane(history, "segment")]).toEqual([
      [kSegment_bytes, 0, 0],
      [0, kSegment_bytes, 0],
    ]);
    expect([history.outsideByLibrary(0, 0), history.outsideByLibrary(0, 1)]).toEqual([new Map([[2, kSegment_bytes]]), new Map()]);
  });

  test("a region on another one ends it, its object does not", async () => {
    const history = await historyOf([malloc(0, 0), block(1, 0, 512, null, null), malloc(2, 10 * MiB), free("cudaFree", 0, { ticket: 3 })]);
    expect(broken(history)).toEqual(["segment_overlap 1 from 2"]);
    expect([lane(history, "segment"), lane(history, "candidate"), lane(history, "own_outside")]).toEqual([
      [0, kSegment_bytes, 0, 0],
      [kSegment_bytes, 0, kSegment_bytes, kSegment_bytes],
      [0, 0, kSegment_bytes, 0],
    ]);
  });

  test("an object of before the first row whose region is gone lies outside", async () => {
    const begin: MadeRow[] = [
      { object: "device", op: "cudaMalloc", state: "other", allocation: 1, place_bytes: 0, size_bytes: MiB, from_torch: 1, flags: 4 },
    ];
    const history = await historyOf([free("cudaFree", 1, { ticket: 9 })], begin);
    const lanes = (["own_outside", "candidate", "segment"] as const).map((name) => history.laneAt(0, name, -1));
    expect([lanes, lane(history, "own_outside")]).toEqual([[MiB, 0, 0], [0]]);
  });

  test("nested and captured calls make and end nothing, imported memory is nobody's", async () => {
    const history = await historyOf([
      ok("cudaMalloc", "device", 0, 0, MiB, { flags: 1 }),
      ok("cudaMallocAsync", "async", 1, 64 * MiB, MiB, { flags: 2 }),
      ok("cudaExternalMemoryGetMappedMipmappedArray", "array", 2, 0, MiB, { flags: 8, place_bytes: null }),
      ok("cudaMalloc3DArray", "array", 3, 0, MiB, { flags: 0, place_bytes: null }),
      free("cudaFreeArray", 3, { ticket: 4, flags: 1 }),
      ok("cudaMallocFromPoolAsync", "async", 5, 128 * MiB, MiB, { flags: 12 }),
    ]);
    expect(lane(history, "own_outside")).toEqual([0, 0, 0, MiB, MiB, MiB]);
    expect(lane(history, "reserved")).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("a refused free takes the end back, its segment too", async () => {
    const history = await historyOf([
      malloc(0, 0),
      block(1, 0, 2 * MiB, null, null),
      freed(2, 1, 0, 2 * MiB, null, null),
      free("cudaFree", 0, { ticket: 3 }),
      { kind: "free_fail", op: "cudaFree", ticket: 4, allocation: 0 },
    ]);
    expect(lane(history, "segment").map((it) => it / MiB)).toEqual([0, 20, 20, 0, 20]);
    expect([history.scene(0, 4).segments[0].sizeClass, history.scene(0, 4).segments[0].ticket]).toEqual(["large", 0]);
  });

  test("a refusal of a free of before the first row leaves the sums of its device unknown, where rows before the first are missing", async () => {
    const rows: MadeRow[] = [{ kind: "free_fail", op: "cudaFree", ticket: 9, allocation: 3 }];
    const history = await historyOf(rows, [{ state: "tap", device: null }]);
    expect([lane(history, "segment"), history.limits[0].why]).toEqual([
      [NaN],
      "a refused free that began before the first row: sums are not known from there on",
    ]);
    expect(lane(await historyOf(rows), "segment")).toEqual([0]);
  });

  test("a refused end of a context takes each of its frees back, and none of an earlier call", async () => {
    const outside = (ticket: number) => ok("cudaMalloc", "device", ticket, ticket * 64 * MiB, MiB, { flags: 0 });
    const failed = (ticket: number, allocation: number): MadeRow => ({ kind: "free_fail", op: "cuCtxDestroy", ticket, allocation });
    const rows = [
      outside(0),
      outside(1),
      outside(2),
      free("cudaFree", 0, { ticket: 3, flags: 0 }),
      free("cuCtxDestroy", 1, { ticket: 4, flags: 0 }),
      free("cuCtxDestroy", 2, { ticket: 5, flags: 0 }),
    ];
    const history = await historyOf([...rows, failed(6, 2), failed(7, 1), failed(8, 0), failed(9, 2)]);
    expect(lane(history, "own_outside").map((it) => it / MiB)).toEqual([1, 2, 3, 2, 1, 0, 1, 2, 2, 2]);
  });

  test("an end of a context of what was born after another one's is a call of its own", async () => {
    const outside = (ticket: number) => ok("cudaMalloc", "device", ticket, ticket * 64 * MiB, MiB, { flags: 0 });
    const end = (birth: number, ticket: number) => free("cuCtxDestroy", birth, { ticket, flags: 0 });
    const history = await historyOf([
      outside(0),
      end(0, 1),
      outside(2),
      end(2, 3),
      { kind: "free_fail", op: "cuCtxDestroy", ticket: 4, allocation: 0 },
    ]);
    expect(lane(history, "own_outside").map((it) => it / MiB)).toEqual([1, 0, 1, 0, 0]);
  });
});

describe("physical memory behind mappings", () => {
  const create = (ticket: number, more: MadeRow = {}) =>
    ok("cuMemCreate", "vmm_handle", ticket, 0, kSegment_bytes, { place_bytes: null, memory: ticket, ...more });
  const map = (ticket: number, place: number, memory: number | null, more: MadeRow = {}) =>
    ok("cuMemMap", "mapping", ticket, place, kSegment_bytes, { memory, ...more });

  test("PyTorch's counts as held before it is mapped and after, once", async () => {
    const history = await historyOf([create(0), map(1, 0, 0), free("cuMemUnmap", 1, { ticket: 2 }), free("cuMemRelease", 0, { ticket: 3 })]);
    expect(lane(history, "reserved").map((it) => it / MiB)).toEqual([20, 20, 20, 0]);
    expect(lane(history, "segment").map((it) => it / MiB)).toEqual([0, 20, 0, 0]);
  });

  test("another library's counts once, while a reference or a mapping lives", async () => {
    const own = { flags: 0, library: 3 };
    const history = await historyOf([
      create(0, own),
      map(1, 0, 0, own),
      map(2, 64 * MiB, 0, own),
      ok("cuMemRetainAllocationHandle", "vmm_handle", 3, 0, kSegment_bytes, { place_bytes: null, memory: 0, ...own }),
      free("cuMemRelease", 0, { ticket: 4, flags: 0 }),
      free("cuMemRelease", 3, { ticket: 5, flags: 0 }),
      free("cuMemUnmap", 1, { ticket: 6, flags: 0 }),
      free("cuMemUnmap", 2, { ticket: 7, flags: 0 }),
    ]);
    expect(lane(history, "own_outside").map((it) => it / MiB)).toEqual([20, 20, 20, 20, 20, 20, 20, 0]);
  });

  test.each([0, 4])("imported memory is neither held nor outside, mapped or not, flags %d", async (flags) => {
    const history = await historyOf([create(0, { op: "cuMemImportFromShareableHandle", flags }), map(1, 0, 0, { flags })]);
    expect([lane(history, "own_outside"), lane(history, "reserved")]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test("another library's that PyTorch's allocator maps is its segment, not outside", async () => {
    const history = await historyOf([create(0, { flags: 0 }), map(1, 0, 0), free("cuMemUnmap", 1, { ticket: 2 })]);
    expect([lane(history, "own_outside"), lane(history, "segment")].map((it) => it.map((bytes) => bytes / MiB))).toEqual([
      [20, 0, 20],
      [0, 20, 0],
    ]);
  });

  test("a refused end of the last mapping takes its memory back", async () => {
    const history = await historyOf([
      create(0, { flags: 0 }),
      map(1, 0, 0, { flags: 0 }),
      free("cuMemRelease", 0, { ticket: 2, flags: 0 }),
      free("cuMemUnmap", 1, { ticket: 3, flags: 0 }),
      { kind: "free_fail", op: "cuMemUnmap", ticket: 4, allocation: 1 },
    ]);
    expect(lane(history, "own_outside").map((it) => it / MiB)).toEqual([20, 20, 20, 0, 20]);
  });

  test("a refused release takes the memory back", async () => {
    const history = await historyOf([
      create(0, { flags: 0 }),
      free("cuMemRelease", 0, { ticket: 1, flags: 0 }),
      { kind: "free_fail", op: "cuMemRelease", ticket: 2, allocation: 0 },
    ]);
    expect(lane(history, "own_outside").map((it) => it / MiB)).toEqual([20, 0, 20]);
  });

  test("a mapping without a device has that of its memory", async () => {
    const history = await historyOf([create(0, { device: 1 }), map(1, 0, 0, { device: null })]);
    expect(lane(history, "segment", 1)).toEqual([0, kSegment_bytes]);
  });

  test("memory of before the window lives on behind its mappings", async () => {
    const history = await historyOf(
      [free("cuMemUnmap", 5, { ticket: 9, flags: 0 })],
      [
        { state: "memory", allocation: 4, size_bytes: MiB, library: 2 },
        { object: "mapping", op: "cuMemMap", state: "foreign", allocation: 5, place_bytes: 0, size_bytes: MiB, memory: 4 },
      ],
    );
    expect([history.laneAt(0, "own_outside", -1), history.laneAt(0, "own_outside", 0)]).toEqual([MiB, 0]);
  });
});
