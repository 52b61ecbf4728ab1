// SPDX-License-Identifier: Apache-2.0
//
// What a reader saves from the page is what memsnap-replay writes, and the oracle, which shares no code with either, agrees with it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { snapshotOf, writePickle } from "./support/incidents";
import { judged, oracle } from "./support/memsnap";
import { openPage } from "./support/open";
import { made, pageOf, ringOf } from "./support/pages";
import { show } from "./support/views";

const kFixtures = ["six_part", "retention", "expandable", "two_devices", "clean_exit"];

async function saved(page: Page, button: string): Promise<{ name: string; path: string }> {
  const panel = await show(page, "Checks");
  await panel.getByRole("progressbar").waitFor({ state: "detached" });
  const coming = page.waitForEvent("download");
  await panel.getByRole("button", { name: button }).click();
  const download = await coming;
  const path = join(inject("folder"), `${process.pid}-${download.suggestedFilename()}`);
  await download.saveAs(path);
  return { name: download.suggestedFilename(), path };
}

test.each(kFixtures)("the oracle agrees with the receipt saved from the page of %s", async (name) => {
  const page = await openPage(pageOf(name));
  const receipt = await saved(page, "Receipt (JSON)");
  expect(readFileSync(receipt.path, "utf8")).toBe(judged(ringOf(name), "--json", "-").stdout);
  expect(oracle("--receipt", receipt.path, ringOf(name))).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("the oracle objects to a receipt that says one byte more", () => {
  const text = judged(ringOf("six_part"), "--json", "-").stdout;
  const forged = text.replace(/"largest_free_extent_bytes":(\d+)/, (_, bytes: string) => `"largest_free_extent_bytes":${Number(bytes) + 1}`);
  expect(forged).not.toBe(text);
  const path = join(inject("folder"), "forged.json");
  writeFileSync(path, forged);
  expect(oracle("--receipt", path, ringOf("six_part")).code).toBe(6);
});

test.each(kFixtures)("the ledger saved from the page of %s is the one that memsnap-replay writes", async (name) => {
  const page = await openPage(pageOf(name));
  const ledger = await saved(page, "Ledger (CSV)");
  expect(readFileSync(ledger.path, "utf8")).toBe(judged(ringOf(name), "--csv", "-").stdout);
});

test("what is saved from a page with names holds none, and its file's name neither", async () => {
  const frames = [{ name: "attention_scores", filename: "/home/somebody/attention.py", line: 31 }];
  const file = made("saved_names.html", (path) => {
    judged(writePickle(snapshotOf(frames), "saved_names.pickle"), "--card", "2GiB", "--html", path);
  });
  const page = await openPage(file);
  for (const button of ["Receipt (JSON)", "Ledger (CSV)", "Sites (CSV)", "Checks (CSV)"]) {
    const { name, path } = await saved(page, button);
    const text = readFileSync(path, "utf8");
    expect(text.length, button).toBeGreaterThan(0);
    for (const secret of ["attention", "somebody", "saved_names"]) expect(`${name} ${text}`, button).not.toContain(secret);
  }
});

test("the ledger of a page that holds only some events is refused with the command that writes it", async () => {
  const page = await openPage(pageOf("six_part", undefined, "--html-events", "20"));
  const panel = await show(page, "Checks");
  await panel.getByRole("progressbar").waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Ledger (CSV)" }).click();
  await panel.getByText(/memsnap-replay .*--csv/).first().waitFor();
});
