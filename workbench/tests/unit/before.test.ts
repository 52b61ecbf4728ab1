// SPDX-License-Identifier: Apache-2.0
//
// What was there before a recording that began late: how much of it is in no block, how it stands in the split, and whose births nobody knows.
import { describe, expect, test } from "vitest";
import { Rows } from "../../src/checks/rows";
import type { Incident } from "../../src/data/incident";
import { foundAt, unseenAt } from "../../src/history/before";
import { buildHistory } from "../../src/history/build";
import { heldParts } from "../../src/views/holders_chart";
import { splitAt } from "../../src/views/holders_split";
import { drawnLanes } from "../../src/views/lanes_source";
import { splitRows, type Split } from "../../src/views/split";
import { block, freed, madeIncident, type MadeRow, MiB, ok } from "../support/made_incident";

const found = (ticket: number, place: number, size: number): MadeRow => ({ ...block(ticket, place, size, null, null), kind: "initial" });

async function late(rows: MadeRow[], births_known_from_ticket = 0): Promise<Incident> {
  const incident = await madeIncident(rows);
  const { receipt, outline } = incident;
  return {
    ...incident,
    receipt: { ...receipt, capture: { start_mode: "late" } },
    outline: { ...outline, window: { ...outline.window, births_known_from_ticket } },
    names: { sites: [], frames: [], phases: [], libraries: [], dimensions: [] },
  };
}

async function unseen(incident: Incident): Promise<(number | null)[]> {
  const history = await buildHistory(incident);
  return Array.from({ length: history.rows + 1 }, (_, at) => unseenAt(incident, history, 0, at - 1));
}

const kSegment = ok("cuMemAlloc", "device", 0, 0, 20 * MiB);

describe("bytes in no block", () => {
  test("are what the last report states beyond the live blocks, and not known before the first", async () => {
    const incident = await late([
      kSegment,
      block(1, 0, MiB, 31 * MiB, 60 * MiB),
      block(2, MiB, 2 * MiB, 33 * MiB, 60 * MiB),
      freed(3, 1, 0, MiB, 32 * MiB, 60 * MiB),
    ]);
    expect(await unseen(incident)).toEqual([null, null, 30 * MiB, 30 * MiB, 30 * MiB]);
  });

  test("get less when one of them is freed, and when one is found", async () => {
    const incident = await late([
      kSegment,
      block(1, 0, MiB, 31 * MiB, 60 * MiB),
      freed(2, null, 64 * MiB, 10 * MiB, 21 * MiB, 60 * MiB),
      found(3, MiB, 8 * MiB),
    ]);
    expect(await unseen(incident)).toEqual([null, null, 30 * MiB, 20 * MiB, 12 * MiB]);
    const lane = (await buildHistory(incident)).lane(0, "unseen_allocated"); // as the last report had it: what was found since is in it
    expect([...lane]).toEqual([0, 30 * MiB, 20 * MiB, 20 * MiB]);
  });

  test("are none where the recording began with the job, whatever a report states", async () => {
    const incident = await late([kSegment, block(1, 0, MiB, 31 * MiB, 60 * MiB)]);
    expect(await unseen({ ...incident, receipt: { ...incident.receipt, capture: { start_mode: "from_birth" } } })).toEqual([0, 0, 0]);
  });
});

describe("an answer of the device before the allocator's first report", () => {
  const asked = (free: number, reserved: number | null): MadeRow => ({
    kind: "mem_info", device_total_bytes: 80 * MiB, device_free_bytes: free, allocated_bytes: reserved, reserved_bytes: reserved,
  });
  const kRows = [
    asked(30 * MiB, null),
    kSegment,
    block(2, 0, MiB, 31 * MiB, 60 * MiB),
    asked(12 * MiB, 60 * MiB),
    freed(4, 2, 0, MiB, 30 * MiB, 60 * MiB),
  ];
  const kLanes = ["total", "unattributed", "expected_free", "used"] as const;
  const lanes = async (incident: Incident, row: number) => {
    const history = await buildHistory(incident);
    return kLanes.map((lane) => history.laneAt(0, lane, row) / MiB);
  };

  test("tells nothing of what lies outside, and the next one does", async () => {
    const incident = await late(kRows);
    for (const row of [0, 1, 2]) expect(await lanes(incident, row), `row ${row}`).toEqual(kLanes.map(() => NaN));
    expect(await lanes(incident, 3)).toEqual([80, 8, 12, 68]);
    const history = await buildHistory(incident);
    expect([...history.ledger("outside_bytes")]).toEqual([NaN, NaN, NaN, 8 * MiB, NaN]);
    expect([...history.ledger("expected_free_bytes")]).toEqual([NaN, NaN, NaN, NaN, 12 * MiB]);
  });

  test("leaves what an older answer told as it was", async () => {
    const incident = await late([...kRows, asked(20 * MiB, null)]);
    expect(await lanes(incident, 5)).toEqual([80, 8, 12, 68]);
  });

  test("tells it where the recording began with the job", async () => {
    const incident = await late(kRows);
    expect(await lanes({ ...incident, receipt: { ...incident.receipt, capture: { start_mode: "from_birth" } } }, 0)).toEqual([80, 50, 30, 50]);
  });

  test("is no answer that the split could carry", async () => {
    const incident = await late(kRows);
    const history = await buildHistory(incident);
    const sources = [0, 1, 3, 4].map((row) => splitAt(incident, history, 0, row)).map((split) => [split.source, split.free_bytes]);
    expect(sources).toEqual([["unknown", null], ["unknown", null], ["observed", 12 * MiB], ["carried", 12 * MiB]]);
  });

  test("is an answer, and tells no outside, for the checks", async () => {
    const rows = await Rows.of(await late(kRows), { breathe: async () => undefined });
    expect([0, 3].map((row) => [rows.isObservation(row), rows.tellsOutside(row)])).toEqual([[true, false], [true, true]]);
  });
});

test("a block that was born before births are known has none that anybody knows", async () => {
  const incident = await late([kSegment, block(1, 0, MiB, null, null), found(2, MiB, MiB), block(3, 2 * MiB, MiB, null, null)], 3);
  const history = await buildHistory(incident);
  expect(foundAt(incident, history, history.scene(0, 3)).map((life) => history.lives.ticket[life])).toEqual([1, 2]);
});

describe("the split", () => {
  const at = async (incident: Incident, row: number) => splitAt(incident, await buildHistory(incident), 0, row);
  const rowOf = (incident: Incident, split: Split, key: string) => splitRows(incident, [split]).find((row) => row.key === key);

  test("has them as a part of their own, beside what is free in segments that nobody saw", async () => {
    const incident = await late([kSegment, block(1, 0, MiB, 31 * MiB, 60 * MiB)]);
    const split = await at(incident, 1);
    expect([split.active_bytes, split.before_bytes, split.reusable_free_bytes, split.fragmented_free_bytes]).toEqual(
      [1, 30, 19, 10].map((size) => size * MiB),
    );
    expect(rowOf(incident, split, "before")!.label).toBe("before recording");
  });

  test("does not know which holes are free where some of the bytes must lie in them", async () => {
    const incident = await late([kSegment, block(1, 0, MiB, 15 * MiB, 20 * MiB)]);
    const split = await at(incident, 1);
    expect([split.before_bytes, split.reusable_free_bytes, split.fragmented_free_bytes, split.incompatible_free_bytes]).toEqual(
      [14 * MiB, null, 5 * MiB, null],
    );
    expect(rowOf(incident, split, "fragmented")!.note).toBe("free: where is not known");
  });

  test("says that they are not known, and of a receipt that it does not tell them apart", async () => {
    const incident = await late([kSegment, block(1, 0, MiB, 31 * MiB, 60 * MiB)]);
    const shown = async (split: Split) => rowOf(incident, split, "before")?.columns.map((column) => column.shown);
    const first = await at(incident, 0);
    const { before_bytes, ...receipt } = await at(incident, 1);
    expect(before_bytes).toBe(30 * MiB);
    expect(await shown(first)).toEqual(["not known"]);
    expect(await shown(receipt)).toBeUndefined();
    const both = splitRows(incident, [first, receipt]).find((row) => row.key === "before")!;
    expect(both.columns.map((column) => column.shown)).toEqual(["not known", "not told apart"]);
  });
});

test("over time they are drawn beside what is free; where they are not known, as neither", async () => {
  const incident = await late([kSegment]);
  const bytes = (in_use: number) =>
    Object.fromEntries(
      heldParts(incident).map((part) => [
        part.text,
        part.of({ active: 1, in_use, reserved: 20, used: 25, own_outside: 0, other_processes: 0, unattributed: 5 }) || 0,
      ]),
    );
  expect(bytes(8)).toMatchObject({ active: 1, "before recording": 7, "free inside segments": 12, "free, or before recording": 0 });
  expect(bytes(NaN)).toMatchObject({ active: 1, "before recording": 0, "free inside segments": 0, "free, or before recording": 19 });
  expect(drawnLanes(incident)).toContain("in_use");
  expect(drawnLanes({ ...incident, receipt: { ...incident.receipt, capture: { start_mode: "from_birth" } } })).not.toContain("in_use");
});
