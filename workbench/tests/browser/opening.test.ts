// SPDX-License-Identifier: Apache-2.0
//
// A page without data, and files that are given to a page: what it shows itself, it opens; of anything else it says what it is and what reads it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { violations } from "./support/axe";
import { snapshotOf, writePickle } from "./support/incidents";
import { judged } from "./support/memsnap";
import { openPage, settled } from "./support/open";
import { changedPage, packed, partsOf } from "./support/page_parts";
import { comparisonOf, made, pageOf, ringOf, template } from "./support/pages";
import { show, titlesOf } from "./support/views";

async function give(page: Page, path: string): Promise<void> {
  await page.locator("input[type=file]").first().setInputFiles(path);
}

async function answerTo(page: Page, path: string): Promise<Locator> {
  await give(page, path);
  const dialog = page.getByRole("dialog", { name: "What this file is" });
  await dialog.waitFor();
  return dialog;
}

// Dropped anywhere on the page, as from a file manager.
async function drop(page: Page, path: string, name: string): Promise<void> {
  const transfer = await page.evaluateHandle(([text, name]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
    return transfer;
  }, [readFileSync(path).toString("base64"), name]);
  await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

// The sentence at the top: the cards below name every hypothesis.
async function happened(page: Page): Promise<string> {
  return page.getByRole("tabpanel", { name: "Verdict" }).getByRole("region", { name: "what happened" }).innerText();
}

function written(name: string, text: string): string {
  const path = join(inject("folder"), name);
  writeFileSync(path, text);
  return path;
}

test("without data the page offers to open something or to learn, and breaks no rule of axe's", async () => {
  const page = await openPage(template());
  await page.getByRole("button", { name: "start the lesson" }).waitFor();
  expect(await page.getByRole("tabpanel").innerText()).toContain("--html");
  expect(await violations(page)).toEqual([]);
});

test("another page is opened in place of nothing, its receipt beside it", async () => {
  const page = await openPage(template());
  await give(page, pageOf("six_part"));
  await page.getByRole("tab", { name: "Lanes" }).waitFor();
  await settled(page);
  expect(await happened(page)).toMatch(/^external pressure/i);
  const receipt = made("retention.json", (path) => {
    judged(ringOf("retention"), "--json", path);
  });
  const dialog = await answerTo(page, receipt);
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: /compare/ }).click();
  const compared = page.getByRole("tabpanel", { name: "Compare" });
  await compared.waitFor();
  expect(await compared.innerText()).toContain("BEFORE");
});

test("what was read and looked for of one page is not shown with the next one", async () => {
  const page = await openPage(pageOf("six_part"));
  const events = await show(page, "Events");
  await events.getByRole("searchbox").first().fill("kind:block_alloc");
  await events.getByText("columns", { exact: true }).click();
  await events.getByRole("button", { name: "the replay's derived columns" }).click();
  await events.getByRole("checkbox", { name: /^active_bytes/ }).first().check();
  await (await answerTo(page, pageOf("retention"))).getByRole("button", { name: "open it instead" }).click();
  await page.getByRole("tabpanel", { name: "Verdict" }).waitFor();
  await settled(page);
  const next = await show(page, "Events");
  expect(await next.getByRole("searchbox").first().inputValue()).toBe("");
  expect(await next.getByRole("columnheader", { name: "active_bytes" }).count()).toBe(0);
  await next.getByText("columns", { exact: true }).click();
  await next.getByRole("button", { name: "the replay's derived columns" }).waitFor();
});

test("what of a receipt cannot be drawn is said in its place, and nothing of the page before stays there", async () => {
  const receipt = JSON.parse(partsOf(pageOf("retention")).get("receipt")!.toString()) as { evidence: Record<string, unknown> };
  receipt.evidence.near_misses = { columns: [], rows: 7 };
  const odd = changedPage(pageOf("retention"), "odd-receipt.html", (part, text) => (part === "receipt" ? packed(JSON.stringify(receipt)) : text));
  const page = await openPage(pageOf("six_part"));
  expect(await happened(page)).toMatch(/^external pressure/i);
  await (await answerTo(page, odd)).getByRole("button", { name: "open it instead" }).click();
  const panel = page.getByRole("tabpanel", { name: "Verdict" });
  await panel.getByRole("alert").waitFor();
  expect(await panel.innerText()).not.toMatch(/external pressure/i);
  await settled(page);
  expect(await (await show(page, "Lanes")).getByRole("alert").count()).toBe(0);
});

test("a receipt alone shows what a receipt can show", async () => {
  const page = await openPage(template());
  const receipt = made("six_part.json", (path) => {
    judged(ringOf("six_part"), "--json", path);
  });
  await give(page, receipt);
  expect(await happened(page)).toMatch(/^external pressure/i);
  expect(await titlesOf(page)).not.toContain("Memory map");
});

test.each([
  ["a recording", () => ringOf("six_part"), /memsnap-replay .*--html/],
  ["a memory snapshot", () => writePickle(snapshotOf([{ name: "f", filename: "f.py", line: 1 }]), "given.pickle"), /memsnap-replay .*given\.pickle/],
  ["a log", () => written("job.log", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"), /memsnap-replay triage/],
  ["a file for a shell to stumble over", () => written("a'b $(x).log", "torch.OutOfMemoryError: CUDA out of memory.\n"), /'a'\\''b \$\(x\)\.log'/],
] as const)("%s is not read but answered with the command that reads it", async (_, file, command) => {
  const page = await openPage(template());
  expect(await (await answerTo(page, file())).innerText()).toMatch(command);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "start the lesson" }).waitFor();
});

test("a file that is dropped is taken as one that is chosen", async () => {
  const page = await openPage(template());
  await drop(page, pageOf("six_part"), "<b>six</b>.html");
  expect(await happened(page)).toMatch(/^external pressure/i);
});

test("anything else is called what it is not", async () => {
  const page = await openPage(template());
  const dialog = await answerTo(page, written("holiday.png", "\u0000PNG\r\n\u001a\n\u0000"));
  expect(await dialog.innerText()).toContain("holiday.png");
  expect(await dialog.getByText(/^memsnap-replay/).count()).toBe(0);
});

test("the lesson runs through its six parts by keyboard, and each is marked as made up", async () => {
  const page = await openPage(template());
  await page.getByRole("button", { name: "start the lesson" }).press("Enter");
  await page.getByRole("button", { name: /^show part 1/ }).press("Enter");
  for (let part = 1; part <= 6; ++part) {
    await page.getByRole("heading", { name: `${part} of 6` }).waitFor();
    expect(await page.getByRole("banner").innerText()).toMatch(/synthetic/i);
    if (part === 1 || part === 6) expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: part < 6 ? "next part" : "now break it" }).press("Enter");
  }
  await page.getByRole("group", { name: "changes" }).waitFor();
});

test("each change to the lesson is seen by a check or said not to be, and can be undone", async () => {
  const page = await openPage(template());
  await page.getByRole("button", { name: "start the lesson" }).click();
  const changes = page.getByRole("group", { name: "changes" });
  await changes.waitFor();
  const names = (await changes.getByRole("button").allInnerTexts()).filter((name) => name !== "undo");
  expect(names.length).toBeGreaterThanOrEqual(6);
  for (const name of names) {
    await changes.getByRole("button", { name, exact: true }).click();
    await page.locator("[aria-live=polite][aria-busy=false]").first().waitFor();
    await page.getByText(/checks? objects?|No check objects|can no longer look/).first().waitFor();
  }
  await changes.getByRole("button", { name: "undo" }).click();
  expect(await changes.getByRole("button", { name: "undo" }).isDisabled()).toBe(true);
});

test("two runs stand side by side with what memsnap-replay judged of them", async () => {
  const page = await openPage(comparisonOf("fragmentation_strict", "survived"));
  const panel = page.getByRole("tabpanel", { name: "Compare" });
  await panel.waitFor();
  const told = judged("diff", ringOf("fragmentation_strict"), ringOf("survived")).stdout;
  const [word] = /^(PROVEN|REFUTED|UNKNOWN|NOT [A-Z]+|STILL [A-Z ]+)/m.exec(told)!;
  expect(await panel.innerText()).toContain(word);
  expect(await violations(page)).toEqual([]);
});
