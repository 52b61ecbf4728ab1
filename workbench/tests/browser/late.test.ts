// SPDX-License-Identifier: Apache-2.0
//
// A recording that began late: each view says what was there before it, and at instants where nobody had reported yet that it is not known.
import { expect, test } from "vitest";
import { violations } from "./support/axe";
import { openPage } from "./support/open";
import { pageOf } from "./support/pages";
import { kTitles, show } from "./support/views";

// Of 500 MiB that the allocator reports at the failure, 300 MiB are in no block.
const kSaid: Record<string, string> = {
  Verdict: "before recording 0.29 GiB, from sites and at times that nobody knows",
  Lanes: "active and before recording",
  "Memory map": "Not in this map: 300.00 MiB from before the recording",
  "Flame graph": "Not in this graph: 300.00 MiB from before the recording",
  Retention: "before recording 300.00 MiB, born at times that nobody knows: 300.00 MiB in no block",
  "Who holds the card": "before recording 0.29 not told apart not told apart",
};

const flat = (text: string) => text.replace(/\s+/g, " ");

test("each view says how much was there before", async () => {
  const page = await openPage(pageOf("armed_fragmentation"));
  for (const [title, said] of Object.entries(kSaid)) expect(flat(await (await show(page, title)).innerText()), title).toContain(said);
});

test("before the allocator's first report they say that it is not known", async () => {
  const page = await openPage(pageOf("armed_fragmentation"));
  const panel = await show(page, "Memory map");
  await page.getByRole("region", { name: "instant" }).getByRole("slider").fill("1");
  expect(flat(await panel.innerText())).toContain("How much is not known at this instant");
  expect(flat(await (await show(page, "Retention")).innerText())).toContain("how much is in no block is not known at this instant");
  expect(flat(await (await show(page, "Who holds the card")).innerText())).toContain("before recording not known");
});

test("what the device answered before that report leaves open who holds the card", async () => {
  const page = await openPage(pageOf("armed_asked_early"));
  const panel = await show(page, "Who holds the card");
  expect(flat(await panel.innerText())).toContain("An answer before the allocator's first report does not tell it.");
  await page.getByRole("region", { name: "instant" }).getByRole("slider").fill("2");
  expect(flat(await panel.innerText())).toMatch(/free not known .* the card not known .* device asked unknown/);
});

test("blocks that were found have a place and no step", async () => {
  const page = await openPage(pageOf("attached"));
  expect(flat(await (await show(page, "Flame graph")).innerText())).toContain("before recording");
  expect(flat(await (await show(page, "Retention")).innerText())).toContain("650.00 MiB in 2 blocks found there");
});

test.each(["light", "dark"] as const)("in %s no view of it breaks a rule of axe's", async (colorScheme) => {
  const page = await openPage(pageOf("armed_fragmentation"), { options: { colorScheme } });
  for (const title of kTitles) {
    await show(page, title);
    expect([title, await violations(page)]).toEqual([title, []]);
  }
});
