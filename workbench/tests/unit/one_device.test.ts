// SPDX-License-Identifier: Apache-2.0
//
// What the receipt tells of the device that failed is not told of another one; and the peak of a page is the receipt's, or none.
import { beforeAll, describe, expect, test } from "vitest";
import { cardBytes, peakTicket } from "../../src/data/card";
import type { Incident } from "../../src/data/incident";
import { openIncident } from "../../src/data/open";
import { partsOfText } from "../../src/data/parts";
import type { Evidence } from "../../src/data/receipt";
import { buildHistory } from "../../src/history/build";
import { askedAt } from "../../src/history/compatibility";
import type { History } from "../../src/history/history";
import { device, instant, session } from "../../src/session";
import { splitAt } from "../../src/views/holders_split";
import { goToPeak, landmarkText, peakRow } from "../../src/views/instant";
import { asked } from "../../src/views/map_scene";
import { retainedAtFailure } from "../../src/views/sites";
import { pageOf } from "../support/pages";

interface Opened {
  incident: Incident;
  history: History;
}

async function opened(fixture: string, options: string[] = []): Promise<Opened> {
  const incident = await (await openIncident(partsOfText(pageOf(`../fixtures/${fixture}`, options))!.before)).rest();
  return { incident, history: await buildHistory(incident) };
}

const failingOf = ({ incident }: Opened) => incident.receipt.evidence.failure!.device;

describe("of two devices", () => {
  let two: Opened;
  beforeAll(async () => {
    two = await opened("two_devices");
    session.value = two;
    instant.value = two.history.failureRow!;
  });
  const others = () => two.incident.outline.devices.filter((one) => one !== failingOf(two));

  test("the size of the failing card is not that of the other one", () => {
    const { evidence } = two.incident.receipt;
    expect(others().length).toBeGreaterThan(0);
    expect(cardBytes(evidence, failingOf(two))).not.toBeNull();
    for (const one of others()) expect(cardBytes(evidence, one)).toBe(evidence.holders.find((held) => held.device === one)?.total_bytes ?? null);
  });

  test("the request and what sites retain are of the failing one alone", () => {
    for (const one of two.incident.outline.devices) {
      const failed = one === failingOf(two);
      device.value = one;
      expect(askedAt(two.incident, two.history, one, instant.value) !== null).toBe(failed);
      expect(asked.value !== null).toBe(failed);
      expect(retainedAtFailure() !== null).toBe(failed);
    }
  });

  test("a request that is refused on one classes no free extent of another", async () => {
    const { incident, history } = await opened("fragmentation_strict");
    const { receipt } = incident;
    const row = history.failureRow!;
    const failedOn = (one: number): Incident => {
      const failure = { ...receipt.evidence.failure!, device: one, allocator: "pytorch_uncached" };
      return { ...incident, receipt: { ...receipt, evidence: { ...receipt.evidence, failure } } };
    };
    const [own, other] = [splitAt(failedOn(0), history, 0, row), splitAt(failedOn(1), history, 0, row)];
    const free = history.scene(0, row).free.reduce((sum, extent) => sum + extent.size, 0);
    expect(Number(own.reusable_free_bytes)).toBeLessThan(free);
    expect(other.reusable_free_bytes).toBe(free);
  });
});

// six_part has its peak long before its last events.
describe("the peak of a summarised page", () => {
  const summarised = (from: number) => opened("six_part", ["--html-events", String(from)]);
  let whole: Opened;
  let peak: number;
  beforeAll(async () => {
    whole = await opened("six_part");
    peak = Number(peakTicket(whole.incident.receipt.evidence, 0));
  });

  test("is the receipt's where all events are there", () => {
    expect(whole.incident.events.column("ticket").at(whole.history.peakRow(0)!)).toBe(peak);
  });

  test("is none where it lies before the first of the exact events: nobody is sent to a lesser one", async () => {
    const part = await summarised(4);
    expect(part.incident.outline.window.exact_first_ticket).toBeGreaterThan(peak);
    expect(part.history.peakRow(0)).toBeNull();
    session.value = part;
    device.value = 0;
    instant.value = 2;
    goToPeak();
    expect([peakRow(), instant.value]).toEqual([null, 2]);
    for (let row = -1; row < part.history.rows; row += 1) expect(landmarkText(row)).not.toBe("the peak");
  });

  test("is known on a device only if the receipt tells of it", () => {
    expect(peakTicket({ failure: null, holders: [], peak: null } as unknown as Evidence, 0)).toBeNull();
  });
});
