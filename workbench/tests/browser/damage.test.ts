// SPDX-License-Identifier: Apache-2.0
//
// A page that was cut, changed or made by another version says which part is wrong and how to get a whole one; it shows nothing else of it.
import { expect, test } from "vitest";
import { openPage } from "./support/open";
import { changedPage, packed, partsOf } from "./support/page_parts";
import { pageOf } from "./support/pages";

const kParts = ["outline", "receipt", "names", "levels", "begin", "events"];

async function said(file: string): Promise<string> {
  const page = await openPage(file);
  const alert = page.getByRole("alert");
  await alert.waitFor();
  const text = await alert.innerText();
  expect(text).toContain("memsnap-replay");
  return text;
}

test.each(kParts)("without its part %s the page says that it is missing", async (wanted) => {
  const file = changedPage(pageOf("six_part"), `without-${wanted}.html`, (part, text) => (part === wanted ? null : text));
  expect(await said(file)).toContain(wanted);
});

test.each(kParts)("a part %s that is cut off is called so", async (wanted) => {
  const cut = (text: string) => text.slice(0, Math.floor(text.length / 8) * 4);
  const file = changedPage(pageOf("six_part"), `cut-${wanted}.html`, (part, text) => (part === wanted ? cut(text) : text));
  expect(await said(file)).toContain(wanted);
});

test.each(kParts)("a part %s of other bytes is called damaged", async (wanted) => {
  const bytes = packed('\u0007\u0000\u0000\u0000{"rows"');
  const file = changedPage(pageOf("six_part"), `bytes-${wanted}.html`, (part, text) => (part === wanted ? bytes : text));
  expect(await said(file)).toContain(wanted);
});

test("a page of a later format is not guessed at", async () => {
  const outline = partsOf(pageOf("six_part")).get("outline")!.toString().replace('"format":1', '"format":2');
  const file = changedPage(pageOf("six_part"), "later.html", (part, text) => (part === "outline" ? packed(outline) : text));
  expect(await said(file)).toMatch(/outline.*2/s);
});

test("a table that claims more rows than its bytes hold is refused before memory is taken", async () => {
  const events = partsOf(pageOf("six_part")).get("events")!;
  const head = events.subarray(4, 4 + events.readUInt32LE(0)).toString();
  const grown = Buffer.from(head.replace(/"rows":\d+/, '"rows":4000000000'));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(grown.length);
  const rest = events.subarray(4 + events.readUInt32LE(0));
  const table = packed(Buffer.concat([length, grown, rest]));
  const file = changedPage(pageOf("six_part"), "rows.html", (part, text) => (part === "events" ? table : text));
  expect(await said(file)).toContain("events");
});

test("without scripts the page says where the verdict is to be had", async () => {
  const page = await openPage(pageOf("six_part"), { options: { javaScriptEnabled: false } });
  expect(await page.locator("body").innerText()).toContain("memsnap-replay prints the same verdict");
});
