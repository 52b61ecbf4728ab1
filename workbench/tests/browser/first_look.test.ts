// SPDX-License-Identifier: Apache-2.0
//
// What a reader sees without opening anything: which card failed, what else had its share, what is missing, and what leaves a hypothesis open.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { judged } from "./support/memsnap";
import { openPage } from "./support/open";
import { made, pageOf, ringOf, template } from "./support/pages";

test("of several cards the headline names the one that failed, and another choice does not take the verdict along", async () => {
  const page = await openPage(pageOf("two_devices"));
  const headline = page.getByRole("heading", { level: 1, name: /OUT OF MEMORY on cuda:1/ });
  await headline.waitFor();
  const verdict = page.getByRole("tabpanel", { name: "Verdict" });
  await verdict.getByRole("heading", { name: "Who held cuda:1 at the failure" }).waitFor();
  expect(await verdict.innerText()).not.toContain("which is chosen");
  await page.getByRole("combobox", { name: "device" }).selectOption("0");
  await verdict.getByText("The verdict is of cuda:1, where the failure was; cuda:0, which is chosen, had none.").waitFor();
  expect(await headline.isVisible()).toBe(true);
});

test("what contributes stands beside the cause with its bytes and its fix, and the site that keeps most with a way to it", async () => {
  const page = await openPage(pageOf("external_retention"));
  const happened = page.getByRole("tabpanel", { name: "Verdict" }).getByRole("region", { name: "what happened" });
  const said = await happened.innerText();
  expect(said).toMatch(/contributing retention, [0-9.]+ [GM]iB: release what earlier steps still hold/);
  expect(said).toMatch(/kept most site-[0-9a-f]{16}, /);
  await happened.getByRole("button", { name: "what is kept" }).click();
  await page.getByRole("tabpanel", { name: "Retention" }).waitFor();
});

test("where the card's size is not known each undecidable card says what leaves it open, in the terminal's number", async () => {
  const page = await openPage(pageOf("total_unknown_live_set"));
  const lacking = /at least ([0-9.]+ GiB) were lacking/.exec(judged(ringOf("total_unknown_live_set")).stdout)![1];
  const card = page.getByRole("article", { name: "external pressure" });
  expect(await card.innerText()).toContain(`open how much is outside PyTorch is not known; at least ${lacking} were lacking`);
  expect(await card.innerText()).not.toContain("its own margin");
});

test("what is missing in a recording is not hidden behind the warning about names", async () => {
  const page = await openPage(pageOf("total_unknown_live_set"));
  expect(await page.getByRole("banner").innerText()).toContain("from a memory snapshot of PyTorch's");
});

test("a receipt that was changed says so at its top", async () => {
  const receipt = made("six_part.json", (path) => {
    judged(ringOf("six_part"), "--json", path);
  });
  const forged = join(inject("folder"), "forged-margin.json");
  const text = readFileSync(receipt, "utf8");
  const changed = text.replace(/"reserved_bytes":\d+/, '"reserved_bytes":1024');
  expect(changed).not.toBe(text);
  writeFileSync(forged, changed);
  const page = await openPage(template());
  const open = async (file: string) => page.locator("input[type=file]").first().setInputFiles(file);
  await open(receipt);
  await page.getByRole("banner").getByText(/^✓ [0-9]+ checks agree/).waitFor();
  await open(forged);
  await page.getByRole("dialog").getByRole("button", { name: /compare/ }).click();
  await page.getByRole("banner").getByRole("alert").getByText("The run AFTER contradicts itself").waitFor();
  await open(forged);
  await page.getByRole("dialog").getByRole("button", { name: /open/ }).first().click();
  await page.getByRole("banner").getByRole("alert").getByText("This receipt contradicts itself").waitFor();
});

test("a page that was cut off and is dropped is called so", async () => {
  const cut = join(inject("folder"), "cut-off.html");
  const { stdout } = judged(ringOf("six_part"), "--html", "-");
  writeFileSync(cut, stdout.slice(0, 300_000));
  const page = await openPage(template());
  await page.locator("input[type=file]").first().setInputFiles(cut);
  await page.getByRole("dialog").getByText("This page of memsnap's is cut off").waitFor();
});
