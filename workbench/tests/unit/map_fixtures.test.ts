// SPDX-License-Identifier: Apache-2.0
//
// What the memory map, the flame graph and the table of sites say at the failure, beside the receipt. The rule: the views' own functions, from the
// page of memsnap-replay; fixtures with deferred blocks, pools, streams and categories are among them.
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import type { Incident } from "../../src/data/incident";
import { openIncident } from "../../src/data/open";
import { partsOfText } from "../../src/data/parts";
import { buildHistory } from "../../src/history/build";
import { askedAt, sumFree } from "../../src/history/compatibility";
import { flameTree, SitePaths } from "../../src/history/flame";
import { bytesBySite, sumSites } from "../../src/history/site_sums";
import { lastAllocations } from "../../src/views/events_recent";
import { segmentRows } from "../../src/views/map_table";
import { pageOf } from "../support/pages";

const kFixtures = fileURLToPath(new URL("../../../fixtures", import.meta.url));
const kTold = /^(tap|pool|stream|deferred|categor|expandable|private|capturing|six_part|sites|recent)/;

const fixtures = readdirSync(kFixtures).filter((name) => existsSync(`${kFixtures}/${name}/events.txt`));
const chosen = process.env.EVERY_FIXTURE === undefined ? fixtures.filter((name, at) => kTold.test(name) || at % 9 === 0) : fixtures;

async function opened(name: string): Promise<Incident | null> {
  let page: string;
  try {
    page = pageOf(`${kFixtures}/${name}`);
  } catch {
    return null; // refused: no page
  }
  return (await openIncident(partsOfText(page)!.before)).rest();
}

describe("at the failure", () => {
  let compared_count = 0;
  afterAll(() => expect(compared_count).toBeGreaterThan(chosen.length / 2));

  test.each(chosen)("%s", { timeout: 60_000 }, async (name) => {
    const incident = await opened(name);
    if (incident === null) return;
    const history = await buildHistory(incident);
    const { failure, ledgers, sites, recent } = incident.receipt.evidence;
    const row = history.failureRow;
    if (failure === null || row === null) return;
    const scene = history.scene(failure.device, row);
    compared_count += 1;

    const free = sumFree(scene, askedAt(incident, history, failure.device, row));
    expect(free.reusable).toBe(Number(ledgers!.reusable_free_bytes));
    expect(free.incompatible).toBe(Number(ledgers!.incompatible_free_bytes));
    expect(free.largest === null ? 0 : scene.free[free.largest].size).toBe(Number(ledgers!.largest_free_extent_bytes));
    const rows = segmentRows(scene, history.lives);
    expect(rows.reduce((sum, one) => sum + one.hole_count, 0)).toBe(scene.free.length);

    const sums = sumSites(history, scene);
    const told = (sites ?? []).map((site) => [site.site, site.bytes, site.block_count, site.first_step, site.last_step, site.phase, site.category]);
    const counted = told.map(([site]) => {
      const sum = sums.get(Number(site));
      return sum === undefined ? [site] : [sum.site, sum.bytes, sum.blocks, sum.firstStep, sum.lastStep, sum.phase, sum.category];
    });
    expect(counted).toEqual(told);
    expect(sums.size).toBe(told.length);

    const tree = flameTree(new SitePaths(incident.names), { now: bytesBySite(sums), before: null, inverted: false, ownOnly: false });
    expect(tree.bytes).toBe([...sums.values()].reduce((sum, one) => sum + one.bytes, 0));

    const last = lastAllocations(incident.events, failure.device, row, 16).reverse();
    const wanted = recent as { ticket: number; size_bytes: number; live: boolean }[];
    const cells = (name_: string) => last.map((at) => incident.events.column(name_).at(at));
    expect(cells("ticket")).toEqual(wanted.map((one) => one.ticket));
    expect(cells("size_bytes")).toEqual(wanted.map((one) => one.size_bytes));
    const { death } = history.lives;
    expect(last.map((at) => death[history.lifeOf(incident.events.column("ticket").at(at)!)] > row)).toEqual(wanted.map((one) => one.live));
  });
});
