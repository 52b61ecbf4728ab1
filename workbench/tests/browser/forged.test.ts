// SPDX-License-Identifier: Apache-2.0
//
// A page that was changed says so in every view, without being asked; one that was not says how many checks agree. A page that is cut says so too.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { openPage } from "./support/open";
import { changedPage, packed, partsOf } from "./support/page_parts";
import { pageOf } from "./support/pages";
import { kTitles, show } from "./support/views";

function forged(name: string, part: string, change: (text: string) => string): string {
  const text = partsOf(pageOf("six_part")).get(part)!.toString();
  const changed = change(text);
  expect(changed).not.toBe(text);
  return changedPage(pageOf("six_part"), name, (one, whole) => (one === part ? packed(changed) : whole));
}

const kForged: [string, string, (text: string) => string][] = [
  ["a number of the receipt", "receipt", (text) => text.replace(/"device_free_bytes":\d+/, '"device_free_bytes":12345')],
  ["the title", "outline", (text) => text.replace('"title":"OUT OF MEMORY"', '"title":"NO FAILURE"')],
  ["the cause", "outline", (text) => text.replace(/"cause":"[^"]*"/, '"cause":"external pressure: 3.66 GiB held by user bob"')],
  ["a note", "outline", (text) => text.replace(/"notes":\[[^\]]*\]/, '"notes":["This page was verified by memsnap-oracle."]')],
];

describe("without being asked", () => {
  test("a page that nobody changed says how many checks agree, and leads to them", async () => {
    const page = await openPage(pageOf("six_part"));
    const line = page.getByRole("banner").getByText(/^✓ [0-9]+ checks agree/);
    await line.waitFor();
    await page.getByRole("banner").getByRole("button", { name: "which" }).click();
    await page.getByRole("tabpanel", { name: "Checks" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test.each(kForged)("%s that was changed is said in every view", async (what, part, change) => {
    const page = await openPage(forged(`forged-${what.replace(/\W/g, "")}.html`, part, change));
    const alarm = page.getByRole("banner").getByRole("alert");
    await alarm.getByText("This page contradicts itself").waitFor();
    for (const title of kTitles) {
      await show(page, title);
      expect([title, await alarm.isVisible()]).toEqual([title, true]);
    }
    await show(page, "Verdict");
    await alarm.getByRole("button", { name: "what differs" }).click();
    expect(await page.getByRole("tabpanel", { name: "Checks" }).innerText()).toContain("The first difference");
  });

  test("what to try in words of no receipt is not shown at all", async () => {
    const page = await openPage(forged("forged-fix.html", "receipt", (text) => text.replaceAll(/"fix":"[^"]*"/g, '"fix":"curl evil.example"')));
    expect(await page.getByRole("alert").innerText()).toContain("not a word of its list");
    expect(await page.locator("body").innerText()).not.toContain("evil.example");
  });

  test("an incident that is called made up is not opened as an exercise", async () => {
    const page = await openPage(forged("forged-lesson.html", "outline", (text) => text.replace('"synthetic":false', '"synthetic":true')));
    expect(await page.getByRole("alert").innerText()).toContain("calls the incident made up");
  });

  test("names that the page denies are warned of all the same", async () => {
    const names = partsOf(pageOf("six_part")).get("names")!.toString();
    const frame = '{"function":"f","file":"/x/a.py","line":3,"native":false}';
    const told = names.replace(/"frames":\[[^\]]*\]/, `"frames":[${frame}]`).replace(/"frames":\[[0-9,]*\],/g, '"frames":[0],');
    const outline = partsOf(pageOf("six_part")).get("outline")!.toString().replace('"with_names":true', '"with_names":false');
    const file = changedPage(pageOf("six_part"), "denied.html", (part, text) => {
      if (part === "names") return packed(told);
      return part === "outline" ? packed(outline) : text;
    });
    const page = await openPage(file);
    expect(await page.getByRole("banner").innerText()).toContain("Names of functions, files and phases are in this page");
    await page.getByRole("banner").getByRole("alert").waitFor();
  });
});

test.each([0.3, 0.6])("a page that ends after %s of its program says that it is cut, in the body", async (share) => {
  const html = readFileSync(pageOf("six_part"), "utf8");
  const [begin, end] = [html.indexOf('<script type="module"'), html.indexOf('<script type="application/x-memsnap"')];
  const file = join(inject("folder"), `cut-${share}.html`);
  writeFileSync(file, html.slice(0, begin + Math.floor((end - begin) * share)));
  // A program without its end is not run; without scripts nobody waits for what it would have made.
  const page = await openPage(file, { options: { javaScriptEnabled: false } });
  await page.getByText(/file is cut or damaged.*memsnap-replay RING --html FILE/s).waitFor();
});

test("the line that says so goes when the page stands", async () => {
  const page = await openPage(pageOf("six_part"));
  expect(await page.locator("body").innerText()).not.toContain("If this line stays");
});
