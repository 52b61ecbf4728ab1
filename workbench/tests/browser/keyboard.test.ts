// SPDX-License-Identifier: Apache-2.0
//
// Whatever a mouse can do the keyboard can: each thing that can be pressed is reached by Tab or by arrows, its focus is seen, and keys do what their
// list says.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openPage } from "./support/open";
import { pageOf } from "./support/pages";
import { drawn, instantOf, kTitles, show, titlesOf } from "./support/views";

interface Stop {
  mark: string;
  seen: boolean; // the focus can be seen
}

const kStops = 400; // more than any view has: who walks further goes in circles

// What can be pressed and is in sight; of a group that arrows walk through, one is enough.
function pressable(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const kPressed = "button, a[href], input, select, textarea, summary, [role=button], [role=slider], [role=tab], [role=option], [tabindex]";
    const kGroups = "[role=tablist], [role=listbox], [role=radiogroup], [role=tree], [role=grid], [role=toolbar], [aria-activedescendant]";
    const found = [...document.querySelectorAll<HTMLElement>(kPressed)].filter((element) => {
      if (element.tabIndex < 0 && element.closest(kGroups) !== null) return false;
      if (element.matches("main [tabindex='-1'], [role=tabpanel]") || (element as HTMLButtonElement).disabled) return false;
      if (element.matches("input[type=radio]:not(:checked)")) return false;
      return element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    });
    found.forEach((element, index) => (element.dataset.stop = String(index)));
    return found.map((element) => `${element.dataset.stop}: ${element.outerHTML.slice(0, 120)}`);
  });
}

function focused(page: Page): Promise<Stop> {
  return page.evaluate(() => {
    const element = document.activeElement as HTMLElement;
    const rings = (one: HTMLElement | null, depth: number): boolean => {
      if (one === null || depth > 2) return false;
      const style = getComputedStyle(one);
      const own = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none";
      return own || rings(one.parentElement, depth + 1);
    };
    return { mark: element.dataset.stop ?? element.tagName, seen: rings(element, 0) };
  });
}

test("Tab reaches everything that can be pressed in every view, and the focus is always seen", async () => {
  const page = await openPage(pageOf("six_part"));
  for (const title of await titlesOf(page)) {
    await show(page, title);
    const wanted = await pressable(page);
    expect(wanted.length, title).toBeGreaterThan(0);
    const marks = wanted.map((one) => one.slice(0, one.indexOf(":")));
    const reached = new Set<string>();
    const unseen: string[] = [];
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    for (let stop = 0; stop < kStops && !marks.every((mark) => reached.has(mark)); ++stop) {
      await page.keyboard.press("Tab");
      const at = await focused(page);
      if (!at.seen && at.mark !== "BODY") unseen.push(at.mark);
      reached.add(at.mark);
    }
    expect(wanted.filter((_, index) => !reached.has(marks[index])), title).toEqual([]);
    expect(wanted.filter((_, index) => unseen.includes(marks[index])), `${title}: the focus cannot be seen`).toEqual([]);
  }
});

test("arrows, Home and End walk through the views, and digits jump to them", async () => {
  const page = await openPage(pageOf("six_part"));
  const titles = await titlesOf(page);
  const selected = () => page.getByRole("tab", { selected: true }).textContent();
  await page.getByRole("tab", { selected: true }).focus();
  for (const title of titles.slice(1)) {
    await page.keyboard.press("ArrowRight");
    expect(await selected()).toBe(title);
  }
  await page.keyboard.press("ArrowRight");
  expect(await selected()).toBe(titles[0]);
  await page.keyboard.press("End");
  expect(await selected()).toBe(titles.at(-1));
  for (const [index, title] of kTitles.entries()) {
    await page.keyboard.press(String(index + 1));
    expect(await selected()).toBe(title);
  }
});

test("keys move the instant by one, to the failure and to the peak", async () => {
  const page = await openPage(pageOf("six_part"));
  await show(page, "Lanes");
  await page.keyboard.press("f");
  await drawn(page);
  const failure = await instantOf(page);
  await page.keyboard.press(",");
  await page.keyboard.press(",");
  await page.keyboard.press(".");
  await drawn(page);
  expect(await instantOf(page)).toBe(failure - 1);
  await page.keyboard.press("p");
  await drawn(page);
  expect(await instantOf(page)).toBeLessThan(failure);
});

test("a ticket is typed and gone to", async () => {
  const page = await openPage(pageOf("six_part"));
  await show(page, "Memory map");
  await page.keyboard.press("g");
  await page.keyboard.type("12");
  await page.keyboard.press("Enter");
  await drawn(page);
  expect(await page.getByRole("region", { name: "instant" }).locator("strong").innerText()).toBe("ticket 12");
});

test("the list of keys opens with ?, says every view and closes with Escape", async () => {
  const page = await openPage(pageOf("six_part"));
  await page.keyboard.press("?");
  const list = page.getByRole("dialog", { name: "Keys" });
  await list.waitFor();
  for (const title of kTitles) expect(await list.getByText(title, { exact: true }).count(), title).toBe(1);
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "hidden" });
});

test("letters typed into a field are text", async () => {
  const page = await openPage(pageOf("six_part"));
  await show(page, "Events");
  const field = page.getByRole("tabpanel").getByRole("textbox").or(page.getByRole("tabpanel").getByRole("searchbox")).first();
  await field.focus();
  await page.keyboard.type("t2f?");
  expect(await field.inputValue()).toBe("t2f?");
  expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Events");
});
