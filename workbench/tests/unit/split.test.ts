// SPDX-License-Identifier: Apache-2.0
//
// The split of the card on fixtures of every kind: what is shown adds up, and what the page computes at the receipt's instants is what it says.
import { beforeAll, describe, expect, test } from "vitest";
import type { Incident } from "../../src/data/incident";
import { buildHistory } from "../../src/history/build";
import type { History } from "../../src/history/history";
import { hundredths } from "../../src/parts/units";
import { splitAt } from "../../src/views/holders_split";
import { splitRows } from "../../src/views/split";
import { fixtureNames, openFixture, toldOf } from "./check_fixtures";

interface Opened {
  name: string;
  incident: Incident;
  history: History;
}

const opened: Opened[] = [];

// Every kind of holder, and of the others each sixth.
const kHolders = [
  "async_backend",
  "uncached",
  "external",
  "external_retention",
  "imported_memory",
  "expandable",
  "handles_shared",
  "many_kinds_outside",
  "managed_and_pinned",
  "total_unknown_live_set",
  "two_devices",
  "deferred_block",
  "other_pool",
  "fragmentation_incompatible",
];

beforeAll(async () => {
  const names = new Set([...kHolders, ...fixtureNames().filter((_, at) => at % 6 === 0)]);
  for (const { name } of toldOf([...names])) {
    const incident = await openFixture(name);
    opened.push({ name, incident, history: await buildHistory(incident) });
  }
}, 240_000);

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
  test("is the receipt's at its instants, as far as PyTorch's allocator and this process go", () => {
    let compared = 0;
    for (const { name, incident, history } of opened) {
      if (incident.receipt.capture.start_mode === "late") continue; // what was there before is in the reports alone, and no block of the page
      for (const balance of incident.receipt.evidence.holders) {
        const peak = balance.instant === "peak" && balance.ticket !== incident.receipt.evidence.failure?.ticket;
        const row = peak ? history.peakRow(balance.device) : history.rowOf(Number(balance.ticket));
        if (row === null || row < 0 || incident.outline.window.exact_event_count < incident.outline.window.event_count) continue;
        const split = splitAt(incident, history, balance.device, row);
        const of = (one: typeof split) => [
          one.active_bytes,
          one.reusable_free_bytes,
          one.incompatible_free_bytes,
          one.libraries.map((held) => held.bytes),
        ];
        expect(of(split), `${name}, ${balance.instant}`).toEqual(of(balance));
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(30);
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
