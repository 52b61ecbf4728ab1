// SPDX-License-Identifier: Apache-2.0
//
// Pages that tell a part of their events one by one. The rule: an honest page is never called forged; what decided a number before or behind
// those events is not recomputed, with the reason, and a forged number that they do decide is still found.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Check } from "../../src/checks/check";
import { runChecks } from "../../src/checks/run";
import type { Incident } from "../../src/data/incident";
import { buildHistory } from "../../src/history/build";
import { withReceipt } from "../../src/lesson/edit";
import { fixtureNames, openFixture, openRing, ringOf, toldOf } from "./check_fixtures";

const kBuild = process.env.MEMSNAP_BUILD ?? fileURLToPath(new URL("../../../build", import.meta.url));
const checksOf = async (incident: Incident): Promise<Check[]> => runChecks(incident, await buildHistory(incident));

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "memsnap-summarised-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Summary {
  agreed: number;
  objections: unknown[];
  keyframe: boolean;
}

async function summary(recording: string, most: number): Promise<Summary> {
  const incident = await openRing(recording, folder, ["--html-events", String(most)]);
  const checks = await checksOf(incident);
  const said = `${recording.slice(folder.length + 1)}, ${most} events`;
  const objections = checks.flatMap(({ id, result }): unknown[] => {
    if (result.kind === "differs") return [[said, id, result.difference]];
    const silent = result.kind === "not_recomputed" && (result.why === "" || result.why.includes("could not follow"));
    return silent ? [[said, id, result]] : [];
  });
  const agreed = checks.filter(({ result }) => result.kind === "agrees").length;
  return { agreed, objections, keyframe: incident.outline.window.keyframe };
}

async function eventCount(recording: string): Promise<number> {
  return (await openRing(recording, folder)).outline.window.event_count;
}

// What a page tells is at its end, so most of what decides stands before a short part, and each length cuts elsewhere.
test("no page of a fixture is called forged, however few events it tells", { timeout: 480_000 }, async () => {
  const objections: unknown[] = [];
  let [pages, agreed, keyframes] = [0, 0, 0];
  for (const [index, { name }] of toldOf(fixtureNames()).entries()) {
    const ring = ringOf(name, folder);
    const count = await eventCount(ring);
    const cut = [3, 10, Math.ceil(count / 2)][index % 3];
    for (const most of new Set([1, cut, count])) {
      const one = await summary(ring, most);
      objections.push(...one.objections);
      pages += 1;
      agreed += one.agreed;
      keyframes += one.keyframe ? 1 : 0;
    }
    rmSync(ring);
  }
  expect(objections).toEqual([]);
  expect(keyframes).toBeGreaterThan(0);
  expect(agreed).toBeGreaterThan(30 * pages);
});

// Each of these was decided by an event that a short page does not tell.
test.each([
  ["six_part", "numbers.failure.device_call"],
  ["async_backend", "numbers.failure.free_observed_at_failure"],
  ["edge_slow_leak_reached", "growth.repeated"],
  ["neighbour_same_job", "numbers.outside.holder_shares_job"],
])("%s: %s is not recomputed from one event, and the reason is said", async (name, id) => {
  const { result } = (await checksOf(await openFixture(name, ["--html-events", "1"]))).find((check) => check.id === id)!;
  expect(result).toMatchObject({ kind: "not_recomputed", why: expect.stringContaining("part of the window") });
  const whole = (await checksOf(await openFixture(name))).find((check) => check.id === id)!;
  expect(whole.result.kind).toBe("agrees");
});

test.each([1, 3, 10])("a page of a snapshot that tells few events, %d of them, is not called forged", { timeout: 120_000 }, async (most) => {
  for (const name of ["six_part", "retention_fragmentation", "deferred_free"]) {
    const pickle = join(folder, `${name}.pickle`);
    const ring = ringOf(name, folder);
    spawnSync(join(kBuild, "replay/memsnap-replay"), [ring, "--pickle", pickle, "--force"]);
    rmSync(ring);
    const incident = await openRing(pickle, folder);
    expect(incident.receipt.capture.origin).toBe("torch_snapshot");
    expect((await summary(pickle, most)).objections).toEqual([]);
    const half = Math.ceil(incident.outline.window.event_count / 2);
    expect((await summary(pickle, half)).objections).toEqual([]);
  }
});

test("of the same few events a number that was changed is still found", async () => {
  const incident = await openFixture("six_part", ["--html-events", "3"]);
  const forged = withReceipt(
    incident,
    (receipt) => {
      receipt.evidence.ledgers!.reserved_bytes = 512;
      receipt.evidence.failure!.request_bytes = 512;
    },
    true,
  );
  const differing = (await checksOf(forged)).flatMap(({ id, result }) => (result.kind === "differs" ? [id] : []));
  expect(differing).toEqual(expect.arrayContaining(["numbers.ledgers.reserved_bytes", "numbers.failure.request_bytes"]));
});
