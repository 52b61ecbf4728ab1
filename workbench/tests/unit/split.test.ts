// SPDX-License-Identifier: Apache-2.0
//
// The split of the card on every fixture: what is shown adds up, what the page computes at the receipt's instants is what it says, and bytes that the
// allocator reports are in it to the byte at every instant, also those that were there before the recording.
import { beforeAll, describe, expect, test } from "vitest";
import type { Incident } from "../../src/data/incident";
import { beganLate } from "../../src/history/before";
import { buildHistory } from "../../src/history/build";
import type { History } from "../../src/history/history";
import { hundredths } from "../../src/parts/units";
import { splitAt } from "../../src/views/holders_split";
import { splitRows } from "../../src/views/split";
import { fixtureNames, openFixture } from "./check_fixtures";

interface Opened {
  name: string;
  incident: Incident;
  history: History;
}

const opened: Opened[] = [];

beforeAll(async () => {
  for (const name of fixtureNames()) {
    const incident = await openFixture(name).catch(() => null); // a recording that is refused has no page
    if (incident !== null) opened.push({ name, incident, history: await buildHistory(incident) });
  }
}, 240_000);

const bytesOf = (value: unknown) => Number(value ?? 0);

// "−1.23" as −123.
const ofShown = (shown: string) => BigInt(shown.replace("−", "-").replace(".", ""));

describe("the split that the receipt tells", () => {
  test("adds up to the card to the byte, and as it is shown", () => {
    let summed = 0;
    for (const { name, incident } of opened) {
      for (const balance of incident.receipt.evidence.holders) {
        if (balance.total_bytes === null) continue;
        const rows = splitRows(incident, [balance]);
        const bytes = rows.reduce((sum, row) => sum + (row.columns[0].bytes ?? 0n), 0n);
        expect(bytes, name).toBe(BigInt(balance.total_bytes));
        const shown = rows.filter((row) => row.columns[0].bytes !== null).reduce((sum, row) => sum + ofShown(row.columns[0].shown), 0n);
        expect(shown, name).toBe(hundredths(BigInt(balance.total_bytes)));
        summed += 1;
      }
    }
    expect(summed).toBeGreaterThan(30);
  });

  test("says what is not known, and never that it is 0", () => {
    let unknown = 0;
    for (const { name, incident } of opened) {
      for (const balance of incident.receipt.evidence.holders) {
        if (balance.free_bytes !== null) continue;
        const free = splitRows(incident, [balance]).find((row) => row.key === "free")!;
        expect(free.columns[0].shown, name).toBe("not known");
        unknown += 1;
      }
    }
    expect(unknown).toBeGreaterThan(0);
  });
});

describe("the split that the page computes", () => {
  // What was there before the recording is active in a receipt.
  test("is the receipt's at its instants, as far as PyTorch's allocator and this process go", () => {
    let compared = 0;
    let late = 0;
    for (const { name, incident, history } of opened) {
      for (const balance of incident.receipt.evidence.holders) {
        const peak = balance.instant === "peak" && balance.ticket !== incident.receipt.evidence.failure?.ticket;
        const row = peak ? history.peakRow(balance.device) : history.rowOf(Number(balance.ticket));
        if (row === null || row < 0 || incident.outline.window.exact_event_count < incident.outline.window.event_count) continue;
        const split = splitAt(incident, history, balance.device, row);
        const before = bytesOf(split.before_bytes);
        const of = (it: typeof split, active: number) => [
          active,
          it.fragmented_free_bytes,
          it.reusable_free_bytes,
          it.incompatible_free_bytes,
          it.libraries.map((held) => held.bytes),
        ];
        expect(of(split, bytesOf(split.active_bytes) + before), `${name}, ${balance.instant}`).toEqual(of(balance, bytesOf(balance.active_bytes)));
        compared += 1;
        if (before > 0) late += 1;
      }
    }
    expect(compared).toBeGreaterThan(200);
    expect(late).toBeGreaterThan(5);
  });

  test("has every byte that the allocator last reported, at every instant", () => {
    let summed = 0;
    let late = 0;
    for (const { name, incident, history } of opened) {
      for (const device of incident.outline.devices) {
        for (let row = -1; row < history.rows; row += 1 + Math.floor(history.rows / 200)) {
          const split = splitAt(incident, history, device, row);
          const at = `${name}, device ${device}, row ${row}`;
          const [before, active, ...free] = [
            split.before_bytes, split.active_bytes, split.reusable_free_bytes, split.fragmented_free_bytes, split.incompatible_free_bytes,
          ].map(bytesOf);
          const held = history.laneAt(device, "reserved", row);
          expect(free.reduce((sum, bytes) => sum + bytes, before + active), at).toBe(held);
          const reported = history.laneAt(device, "allocated_reported", row);
          if (Number.isNaN(reported)) {
            expect(split.before_bytes, at).toBe(beganLate(incident) ? null : 0);
            continue;
          }
          const [deferred, direct] = [history.laneAt(device, "deferred", row), history.scene(device, row).directBytes];
          if (beganLate(incident)) expect(before + active - deferred - direct, at).toBe(reported);
          else expect(before, at).toBe(0);
          summed += 1;
          if (before > 0) late += 1;
        }
      }
    }
    expect(summed).toBeGreaterThan(2000);
    expect(late).toBeGreaterThan(50);
  });

  test("adds up to the card wherever the device has answered", () => {
    let summed = 0;
    for (const { name, incident, history } of opened) {
      for (const device of incident.outline.devices) {
        for (let row = 0; row < history.rows; row += 1 + Math.floor(history.rows / 20)) {
          const split = splitAt(incident, history, device, row);
          if (split.total_bytes === null) continue;
          const rows = splitRows(incident, [split]);
          expect(
            rows.reduce((sum, one) => sum + (one.columns[0].bytes ?? 0n), 0n),
            `${name}, row ${row}`,
          ).toBe(BigInt(split.total_bytes));
          summed += 1;
        }
      }
    }
    expect(summed).toBeGreaterThan(100);
  });
});
