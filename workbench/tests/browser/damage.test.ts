// SPDX-License-Identifier: Apache-2.0
//
// A page that was cut, changed or made by another version says which part is wrong and how to get a whole one; it shows nothing else of it.
import { expect, test } from "vitest";
import { openPage } from "./support/open";
import { changedPage, packed, partsOf } from "./support/page_parts";
import { pageOf } from "./support/pages";
import { show } from "./support/views";

const kParts = ["outline", "receipt", "names", "levels", "begin", "events"];

async function said(file: string): Promise<string> {
  const page = await openPage(file);
  const alert = page.getByRole("alert");
  await alert.waitFor();
  const text = await alert.innerText();
  expect(text).toContain("memsnap-replay");
  return text;
}

test.each([...kParts, "derived"])("without its part %s the page says that it is missing", async (wanted) => {
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

// It is read when somebody asks for it: the rest of the page stands by then.
test.each([
  ["cut off", (text: string) => text.slice(0, Math.floor(text.length / 8) * 4)],
  ["of other bytes", () => packed('\u0007\u0000\u0000\u0000{"rows"')],
] as const)("a part derived that is %s is told where it is asked for, and nothing else stops", async (kind, change) => {
  const file = changedPage(pageOf("six_part"), `derived-${kind.replaceAll(" ", "-")}.html`, (part, text) =>
    part === "derived" ? change(text) : text,
  );
  const page = await openPage(file);
  const events = await show(page, "Events");
  await events.getByText("columns", { exact: true }).click();
  await events.getByRole("button", { name: "the replay's derived columns" }).click();
  await events.getByRole("alert").waitFor();
  expect(await events.getByRole("alert").innerText()).toMatch(/derived.*memsnap-replay/s);
  const checks = await show(page, "Checks");
  await checks.getByRole("button", { name: "Ledger (CSV)" }).click();
  await checks.getByText(/Ledger \(CSV\):.*derived/).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), checks.getByRole("button", { name: "Receipt (JSON)" }).click()]);
  expect(download.suggestedFilename()).toContain("receipt.json");
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
  await page.getByText("memsnap-replay prints the same verdict").waitFor();
});
