// SPDX-License-Identifier: Apache-2.0
//
// On every fixture the page agrees with memsnap-replay: it holds the same receipt, byte for byte, and finds nothing to object to when it computes
// everything again.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { checked, objections } from "./support/checked";
import { judged, JUDGED, replay, top } from "./support/memsnap";
import { openPage } from "./support/open";
import { fixtureText, pageOf, ringOf } from "./support/pages";
import { show } from "./support/views";

const kFixtures = readdirSync(join(top, "fixtures")).filter((name) => existsSync(join(top, "fixtures", name, "events.txt")));
// In the browser as well: one of each kind of recording.
const kShown = ["six_part", "expandable", "two_devices", "recovered", "ring_wrapped", "late_start", "collections", "clean_exit", "deferred_free"];

test("there are fixtures", () => {
  expect(kFixtures.length).toBeGreaterThan(150);
});

test.each(kFixtures)("%s", async (name) => {
  const ring = ringOf(name);
  const told = replay(ring, "--json", "-");
  if (!JUDGED.includes(told.code)) {
    const file = join(inject("folder"), `${name}-refused.html`);
    expect(replay(ring, "--html", file).code).toBe(told.code);
    expect(existsSync(file)).toBe(false);
    return;
  }
  const { receiptText, checks } = await checked(pageOf(name));
  expect(receiptText).toBe(told.stdout);
  expect(objections(checks)).toEqual([]);
  expect(checks.filter((check) => check.result.kind === "agrees").length).toBeGreaterThan(0);
});

test("the check of a fixture sees a receipt that says another number", async () => {
  const { checks } = await checked(pageOf("six_part"));
  const forged = checks.map((check) => ({ ...check }));
  forged[0].result = { kind: "differs", difference: { row: null, ticket: null, member: "margin_bytes", page: "1", told: "2" } };
  expect(objections(forged)).toHaveLength(1);
});

test.each(kShown)("the browser finds the same of %s", async (name) => {
  expect(fixtureText(name).length).toBeGreaterThan(0);
  const page = await openPage(pageOf(name));
  const panel = await show(page, "Checks");
  await panel.getByRole("progressbar").waitFor({ state: "detached" });
  expect(await panel.getByRole("status").first().innerText()).toMatch(/\b0\s*differ\b/);
});

test.each(kShown)("the verdict shown of %s is the one that memsnap-replay prints", async (name) => {
  const verdict = (JSON.parse(judged(ringOf(name), "--json", "-").stdout) as { verdict: { primary: string | null; qualifiers: string[] } }).verdict;
  const page = await openPage(pageOf(name));
  const text = (await (await show(page, "Verdict")).innerText()).toLowerCase().replace(/[-_]/g, " ");
  if (verdict.primary !== null) expect(text).toContain(verdict.primary.replace(/_/g, " "));
  for (const qualifier of verdict.qualifiers) expect(text).toContain(qualifier.replace(/_/g, " "));
});
