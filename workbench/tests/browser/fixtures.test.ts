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
import { changedPage, packed, partsOf } from "./support/page_parts";
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
  const member = (bytes: string) => `"largest_free_extent_bytes":${bytes}`;
  const another = (text: string) => text.replace(new RegExp(member("(\\d+)")), (_, bytes: string) => member(String(Number(bytes) + 1)));
  const receipt = partsOf(pageOf("six_part")).get("receipt")!.toString();
  expect(another(receipt)).not.toBe(receipt);
  const forged = changedPage(pageOf("six_part"), "another-number.html", (part, text) => (part === "receipt" ? packed(another(receipt)) : text));
  const found = objections((await checked(forged)).checks);
  expect(found.join("\n")).toContain("largest_free_extent_bytes");
  expect(found.join("\n")).toContain("digests.evidence");
});

test.each(kShown)("the browser finds the same of %s", async (name) => {
  expect(fixtureText(name).length).toBeGreaterThan(0);
  const page = await openPage(pageOf(name));
  const panel = await show(page, "Checks");
  await panel.getByRole("progressbar").waitFor({ state: "detached" });
  expect(await panel.getByRole("status").first().innerText()).toMatch(/\b0\s*differ\b/);
});

interface Told {
  verdict: { primary: string | null; qualifiers: string[]; hypotheses: Record<string, { status: string }> | null };
}

// "Live-set pressure" as "live_set": how the receipt calls it.
const memberOf = (title: string) => title.toLowerCase().replace(/ pressure$/, "").replace(/[- ]/g, "_");

test.each(kShown)("the verdict shown of %s is the one that memsnap-replay prints", async (name) => {
  const { verdict } = JSON.parse(judged(ringOf(name), "--json", "-").stdout) as Told;
  const page = await openPage(pageOf(name));
  const panel = await show(page, "Verdict");
  const cards = await panel.getByRole("article").all();
  const shown = await Promise.all(
    cards.map(async (card) => [memberOf(await card.getByRole("heading").innerText()), await card.locator(".status").innerText()]),
  );
  const status = Object.fromEntries(shown.map(([member, text]) => [member, text.replace(/^\W+/, "").toLowerCase()]));
  expect(status).toEqual(Object.fromEntries(Object.entries(verdict.hypotheses ?? {}).map(([member, told]) => [member, told.status])));
  const cause = (await panel.getByRole("region", { name: "what happened" }).innerText()).toLowerCase().replace(/[- ]/g, "_");
  if (verdict.primary !== null) expect(cause.startsWith(verdict.primary), `${cause}: ${verdict.primary}`).toBe(true);
  expect(await panel.getByRole("region", { name: "Qualifiers" }).locator("code").allInnerTexts()).toEqual(verdict.qualifiers);
});

test.each(["lost_failure", "failure_not_placed"])("of %s, where a failure cannot be judged, the page says that nothing is decided", async (name) => {
  expect(judged(ringOf(name), "--json", "-").code).toBe(11);
  const page = await openPage(pageOf(name));
  expect(await (await show(page, "Verdict")).innerText()).toMatch(/all four hypotheses are undecidable/i);
});

// Its request, as long as it is, would go on for ever below the map.
test("a request that is corrupt is drawn as far as the map goes", async () => {
  const events = fixtureText("edge_corrupt_short").replace("alloc w s1+0 800MiB", "alloc w s1+0 700MiB");
  expect(events).not.toBe(fixtureText("edge_corrupt_short"));
  const page = await openPage(pageOf("corrupt_request_with_a_hole", () => events));
  const panel = await show(page, "Memory map");
  expect(await panel.innerText()).toContain("hole");
});
