// SPDX-License-Identifier: Apache-2.0
//
// A million events: the page opens and follows the instant about as a small one does. The rule: times are compared with those of a small page in
// the same run, never with a clock's.
import { statSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { longJob, manyBlocks } from "./support/incidents";
import { openPage } from "./support/open";
import { pageOf } from "./support/pages";
import { instantOf, show } from "./support/views";

const kMillion = 1_000_000;
const kOpening_ratio = 8; // it is about 3
const kRedraw_ratio = 3; // it is about 1: each step is drawn in the frame that follows it
const kSteps = 60;
const kScrubbed = ["Lanes", "Memory map", "Flame graph", "Events"];
const kPatience_ms = 120_000;
const kFileAtMost_bytes = 12e6;

const small = () => pageOf("short_job", () => longJob(2000));
const large = () => pageOf("long_job", () => longJob(kMillion));

async function opening_ms(file: string): Promise<number> {
  const begin = performance.now();
  const page = await openPage(file);
  const spent = performance.now() - begin;
  await page.close();
  return spent;
}

// A moment in which others had the machine is no property of the page.
async function leastOpening_ms(file: string): Promise<number> {
  const times = [await opening_ms(file), await opening_ms(file), await opening_ms(file)];
  return Math.min(...times);
}

// Of one step of the instant, until it is drawn.
async function step_ms(page: Page): Promise<number> {
  const begin = await instantOf(page);
  const spent = await page.evaluate(async (steps) => {
    const times: number[] = [];
    for (let step = 0; step < steps; ++step) {
      const begin = performance.now();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: ",", bubbles: true, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - begin);
    }
    return times.sort((a, b) => a - b)[Math.floor(steps / 2)];
  }, kSteps);
  expect(await instantOf(page)).toBe(begin - kSteps);
  return spent;
}

async function stepsByView(file: string): Promise<Map<string, number>> {
  const page = await openPage(file);
  const times = new Map<string, number>();
  for (const title of kScrubbed) {
    await show(page, title);
    await page.keyboard.press("f");
    times.set(title, await step_ms(page));
  }
  await page.close();
  return times;
}

async function expectScrubsAsSmooth(file: string): Promise<void> {
  const [few, many] = [await stepsByView(small()), await stepsByView(file)];
  for (const title of kScrubbed) expect(many.get(title)! / few.get(title)!, title).toBeLessThan(kRedraw_ratio);
}

test("a page of a million events is a small file that holds each of them", async () => {
  expect(statSync(large()).size).toBeLessThan(kFileAtMost_bytes);
  const page = await openPage(large());
  expect(await (await show(page, "Events")).innerText()).toContain("1,000,0");
  expect(await page.getByRole("banner").innerText()).not.toContain("Summarised");
}, kPatience_ms);

test("a page of a million events opens in a bounded multiple of a small one's time", async () => {
  await opening_ms(small());
  const [few, many] = [await leastOpening_ms(small()), await leastOpening_ms(large())];
  expect(many / few).toBeLessThan(kOpening_ratio);
}, kPatience_ms);

test("the instant moves among a million events as smoothly as among a few", async () => {
  await expectScrubsAsSmooth(large());
}, kPatience_ms);

test("fifteen thousand live blocks are drawn, and the instant moves as smoothly as among a few", async () => {
  const file = pageOf("many_blocks", () => manyBlocks(15_000));
  const page = await openPage(file);
  expect(await (await show(page, "Memory map")).innerText()).toContain("15,000 blocks");
  await page.close();
  await expectScrubsAsSmooth(file);
}, kPatience_ms);

test("a page that holds only the events around the failure one by one says so, and computes the same", async () => {
  const page = await openPage(pageOf("long_job", () => longJob(kMillion), "--html-events", "5000"));
  expect(await page.getByRole("banner").innerText()).toContain("Summarised");
  await show(page, "Memory map");
  await page.keyboard.press("f");
  expect(await page.getByRole("region", { name: "instant" }).innerText()).toContain("the failure");
  const checks = await show(page, "Checks");
  await checks.getByRole("progressbar").waitFor({ state: "detached" });
  expect(await checks.getByRole("status").first().innerText()).toMatch(/\b0\s*differ\b/);
}, kPatience_ms);
