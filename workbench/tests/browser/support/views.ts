// SPDX-License-Identifier: Apache-2.0
//
// The views of a page, reached as a reader reaches them. The rule: by role and name alone.
import type { Locator, Page } from "playwright-core";

// Of a page with one incident; a page with two has "Two incidents" as well.
export const kTitles = ["Verdict", "Lanes", "Memory map", "Flame graph", "Retention", "Who holds the card", "Events", "Checks"];

export async function titlesOf(page: Page): Promise<string[]> {
  return (await page.getByRole("tablist", { name: "views" }).getByRole("tab").allTextContents()).map((text) => text.trim());
}

export async function show(page: Page, title: string): Promise<Locator> {
  await page.getByRole("tab", { name: title, exact: true }).click();
  const panel = page.getByRole("tabpanel", { name: title, exact: true });
  await panel.waitFor();
  await drawn(page);
  return panel;
}

// Until the browser has drawn what the last change asked for.
export async function drawn(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

// The row of the instant as the slider tells it.
export async function instantOf(page: Page): Promise<number> {
  return Number(await page.getByRole("region", { name: "instant" }).getByRole("slider").inputValue());
}
