// SPDX-License-Identifier: Apache-2.0
//
// Who cannot see, or sees otherwise, gets the same page: axe's rules in every view, alternatives of what is drawn, and the settings of the system.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { violations } from "./support/axe";
import { openPage } from "./support/open";
import { pageOf } from "./support/pages";
import { drawn, show, titlesOf } from "./support/views";

const kFixtures = ["six_part", "categories", "peak_without_an_incident"]; // a failure, words of the program, and no failure

async function everyView(page: Page, look: (title: string) => Promise<void>) {
  for (const title of await titlesOf(page)) {
    await show(page, title);
    await look(title);
  }
}

async function violationsByView(page: Page): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  await everyView(page, async (title) => {
    const here = await violations(page);
    if (here.length > 0) found[title] = here;
  });
  return found;
}

test("the check sees a planted violation", async () => {
  const page = await openPage(pageOf("six_part"));
  await page.evaluate(() => document.querySelector("main")!.append(Object.assign(document.createElement("input"), { type: "text" })));
  expect(await violations(page)).toContainEqual(expect.stringMatching(/^label: /));
});

describe.each(["light", "dark"] as const)("in %s", (colorScheme) => {
  test.each(kFixtures)("no view of %s breaks a rule of axe's", async (fixture) => {
    const page = await openPage(pageOf(fixture), { options: { colorScheme } });
    expect(await violationsByView(page)).toEqual({});
  });
});

test("no view breaks a rule of axe's in a narrow window", async () => {
  const page = await openPage(pageOf("six_part"), { width: 600 });
  expect(await violationsByView(page)).toEqual({});
});

test("the list of keys breaks no rule of axe's", async () => {
  const page = await openPage(pageOf("six_part"));
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(await violations(page)).toEqual([]);
});

test("with more contrast wished for and in the system's own colours no view breaks a rule of axe's", async () => {
  for (const options of [{ contrast: "more" }, { forcedColors: "active" }] as const) {
    const page = await openPage(pageOf("six_part"), { options });
    expect(await violationsByView(page)).toEqual({});
  }
});

test("every drawing has a text that says what it shows", async () => {
  const page = await openPage(pageOf("six_part"));
  await everyView(page, async (title) => {
    const silent = await page.locator("main canvas, main svg").evaluateAll((drawings) => {
      const told = (element: Element | null): boolean =>
        element !== null && element.tagName !== "MAIN" &&
        (element.getAttribute("aria-hidden") === "true" || (element.getAttribute("aria-label") ?? "") !== "" ||
          element.hasAttribute("aria-labelledby") || told(element.parentElement));
      return drawings.filter((drawing) => !told(drawing)).map((drawing) => drawing.outerHTML.slice(0, 100));
    });
    expect(silent, title).toEqual([]);
  });
});

test("who wants no motion sees none", async () => {
  const page = await openPage(pageOf("six_part"), { options: { reducedMotion: "reduce" } });
  await everyView(page, async (title) => {
    const moving = await page.evaluate(() => document.getAnimations().map((animation) => String((animation.effect as KeyframeEffect).target)));
    expect(moving, title).toEqual([]);
  });
});

test("a page that is told to be dark is dark, whatever the system has", async () => {
  const page = await openPage(pageOf("six_part"), { options: { colorScheme: "light" } });
  const lightness = () => page.evaluate(() => {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\d+/g)!.map(Number);
    return red + green + blue;
  });
  const light = await lightness();
  await page.keyboard.press("t");
  await drawn(page);
  expect(await lightness()).toBeLessThan(light / 2);
});
