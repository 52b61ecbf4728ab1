// SPDX-License-Identifier: Apache-2.0
//
// Names of functions and files are shown where they may be, are nowhere where they may not, and stay text whatever they look like.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { snapshotOf, type StackFrame, writePickle } from "./support/incidents";
import { judged } from "./support/memsnap";
import { openPage } from "./support/open";
import { partsOf } from "./support/page_parts";
import { made } from "./support/pages";
import { show, titlesOf } from "./support/views";

const kPlain: StackFrame[] = [
  { name: "attention_scores", filename: "/home/somebody/secret_project/attention.py", line: 31 },
  { name: "train", filename: "/home/somebody/secret_project/train.py", line: 9 },
];

const kHostile: StackFrame[] = [
  { name: "<script>document.title='taken'</script>", filename: "/x/a\" onload=\"document.title='taken'.py", line: 1 },
  { name: "</script><img src=x onerror=document.title='taken'>", filename: "/x/\u202Egnp.yp", line: 2 },
  { name: "<!--memsnap:parts-->", filename: "/x/${document.title='taken'}.py", line: 3 },
  { name: "__proto__", filename: "/x/constructor.py", line: 4 },
  { name: "long".repeat(2500), filename: "/x/'`\\\\&amp;\u0000\u2028.py", line: 5 },
];

function namedPage(name: string, frames: StackFrame[], ...options: string[]): string {
  return made(`${name}.html`, (path) => {
    const pickle = writePickle(snapshotOf(frames), `${name}.pickle`);
    judged(pickle, "--card", "2GiB", "--html", path, ...options);
  });
}

test("names are in the page that may tell them, and its top says so", async () => {
  const page = await openPage(namedPage("named", kPlain));
  expect(await page.getByRole("banner").innerText()).toContain("Names");
  for (const title of ["Verdict", "Flame graph", "Memory map"]) {
    const panel = await show(page, title);
    expect(await panel.innerHTML(), title).toContain("attention_scores");
  }
});

test("without names not one part holds any, nor does the page show one", async () => {
  const file = namedPage("unnamed", kPlain, "--no-names");
  const secrets = ["attention", "secret_project", "train.py", "somebody", "unnamed"];
  const parts = partsOf(file);
  expect(parts.size).toBeGreaterThanOrEqual(7);
  for (const [name, bytes] of parts) for (const secret of secrets) expect(bytes.includes(secret), `${secret} in ${name}`).toBe(false);
  const page = await openPage(file);
  expect(await page.getByRole("banner").innerText()).not.toContain("Names of functions");
  for (const title of await titlesOf(page)) {
    const text = await (await show(page, title)).innerText();
    for (const secret of secrets.slice(0, 4)) expect(text, title).not.toContain(secret);
  }
});

test("hostile names are shown as text in every view, and nothing of them runs", async () => {
  const file = namedPage("hostile", kHostile);
  expect(readFileSync(file, "utf8").split("<!--memsnap:parts-->").length).toBe(1);
  for (const width of [1400, 600]) {
    const page = await openPage(file, { width });
    const title = await page.title();
    for (const name of await titlesOf(page)) {
      const panel = await show(page, name);
      expect(await panel.locator("script, img, iframe, object, embed, link").count(), name).toBe(0);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(wide, `${name} scrolls sideways at ${width}`).toBeLessThanOrEqual(0);
    }
    expect(await page.title()).toBe(title);
    const flame = await show(page, "Flame graph");
    expect(await flame.innerHTML()).toContain("&lt;script&gt;");
  }
});

test("a name that runs from right to left does not turn what stands beside it", async () => {
  const page = await openPage(namedPage("hostile", kHostile));
  for (const title of await titlesOf(page)) {
    const panel = await show(page, title);
    const turned = await panel.evaluate((root) => /[\u202A-\u202E\u2066-\u2069]/.test(root.textContent ?? ""));
    expect(turned, title).toBe(false);
  }
});
