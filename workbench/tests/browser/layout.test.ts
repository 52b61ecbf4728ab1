// SPDX-License-Identifier: Apache-2.0
//
// Every view fits: in a wide window, in a narrow one, with letters twice as large, and on paper.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage } from "./support/open";
import { pageOf } from "./support/pages";
import { drawn, kTitles, show, titlesOf } from "./support/views";

const kFixtures = ["six_part", "sites_sixty_five", "two_devices"];

// How far the page can be scrolled sideways, and what sticks out.
function overflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const scrolled = (element: Element | null): boolean =>
      element !== null && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(element).overflowX) || scrolled(element.parentElement));
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolled(element.parentElement))
      .map((element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} ${(element.textContent ?? "").slice(0, 40)}`)
      .slice(0, 5);
  });
}

test("the views have these names, in this order", async () => {
  const page = await openPage(pageOf("six_part"));
  expect((await titlesOf(page)).filter((title) => kTitles.includes(title))).toEqual(kTitles);
});

test("every view shows something under its name", async () => {
  const page = await openPage(pageOf("six_part"));
  for (const title of await titlesOf(page)) {
    const panel = await show(page, title);
    expect((await panel.innerText()).trim().length, title).toBeGreaterThan(20);
  }
});

const kSizes = kFixtures.flatMap((fixture) => [1400, 600, 360].map((width) => [fixture, width] as const));

test.each(kSizes)("%s at %d pixels never scrolls sideways", async (fixture, width) => {
  const page = await openPage(pageOf(fixture), { width });
  for (const title of await titlesOf(page)) {
    await show(page, title);
    expect(await overflow(page), title).toEqual([]);
  }
});

test("letters twice as large never make the page scroll sideways", async () => {
  const page = await openPage(pageOf("six_part"), { width: 1000 });
  await page.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  for (const title of await titlesOf(page)) {
    await show(page, title);
    expect(await overflow(page), title).toEqual([]);
  }
});

test("on paper stand the verdict and what proves it, light and without what only a screen needs", async () => {
  const page = await openPage(pageOf("six_part"), { options: { colorScheme: "dark" } });
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await drawn(page);
  for (const name of ["Verdict", "Lanes", "Who holds the card"])
    expect(await page.getByRole("heading", { name, exact: true }).isVisible(), name).toBe(true);
  expect(await page.getByRole("tab").count()).toBe(0);
  for (const name of ["open", "keys", "dark", "light", "play", "peak"])
    expect(await page.getByRole("button", { name, exact: true }).count(), name).toBe(0);
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(background).toMatch(/rgba?\((255, 255, 255|0, 0, 0, 0)\b/);
  const pdf = await page.pdf({ format: "A4", printBackground: true });
  const sheets = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)!.length;
  expect(sheets).toBeLessThanOrEqual(8);
});

test("after printing the page is as it was", async () => {
  const page = await openPage(pageOf("six_part"));
  await show(page, "Lanes");
  await page.pdf();
  await drawn(page);
  expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Lanes");
});
