// SPDX-License-Identifier: Apache-2.0
//
// Each view looks as it did when somebody last looked at it: wide in light and dark, and narrow. References are in reference/; to make them anew
// after a look: MEMSNAP_NEW_REFERENCES=1 scripts/test_page tests/browser/screenshots.test.ts
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { build } from "./support/memsnap";
import { openPage } from "./support/open";
import { comparisonOf, pageOf, template } from "./support/pages";
import { drawn, show, titlesOf } from "./support/views";

const kReferences = fileURLToPath(new URL("reference", import.meta.url));
const kCommand = "MEMSNAP_NEW_REFERENCES=1 scripts/test_page tests/browser/screenshots.test.ts";
const kMaking = process.env.MEMSNAP_NEW_REFERENCES === "1";
const kDiffering_permille = 10; // of the pixels: another release of the browser draws letters a little otherwise

const kLooks = [
  { name: "light", width: 1400, colorScheme: "light" },
  { name: "dark", width: 1400, colorScheme: "dark" },
  { name: "narrow", width: 600, colorScheme: "light" },
] as const;

function kept(folder: string, name: string, image: Buffer): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  writeFileSync(path, image);
  return path;
}

// Flat areas compress best unfiltered, and nothing on the page is transparent.
function smallest(image: Buffer): Buffer {
  return PNG.sync.write(PNG.sync.read(image), { colorType: 2, inputHasAlpha: true, deflateLevel: 9, deflateStrategy: 0, filterType: 0 });
}

// What is wrong with a picture, or nothing.
function compared(name: string, image: Buffer): string[] {
  const path = join(kReferences, `${name}.png`);
  if (kMaking) kept(kReferences, name, smallest(image));
  const results = join(build, "test-results/screenshots");
  if (!existsSync(path)) return [`${name} has no reference: look at ${kept(results, name, image)}, then run ${kCommand}`];
  const [is, was] = [PNG.sync.read(image), PNG.sync.read(readFileSync(path))];
  const sizes = is.width === was.width && is.height === was.height;
  if (!sizes) return [`${name} has another size: look at ${kept(results, name, image)}, then run ${kCommand}`];
  const difference = new PNG({ width: is.width, height: is.height });
  const differing = pixelmatch(is.data, was.data, difference.data, is.width, is.height, { threshold: 0.2 });
  if (differing * 1000 <= kDiffering_permille * is.width * is.height) return [];
  kept(results, `${name}-difference`, PNG.sync.write(difference));
  return [`${differing} pixels of ${name} differ: look at ${kept(results, name, image)} and its difference, then run ${kCommand}`];
}

async function pictured(page: Page, name: string): Promise<string[]> {
  await page.mouse.move(0, 0);
  await drawn(page);
  return compared(name, await page.screenshot({ caret: "hide", animations: "disabled" }));
}

describe.each(kLooks)("$name", ({ name: look, width, colorScheme }) => {
  test("each view looks as its reference", async () => {
    const page = await openPage(pageOf("six_part"), { width, options: { colorScheme, reducedMotion: "reduce" } });
    const wrong: string[] = [];
    for (const title of await titlesOf(page)) {
      const panel = await show(page, title);
      await panel.getByRole("progressbar").waitFor({ state: "detached" });
      wrong.push(...(await pictured(page, `${title.toLowerCase().replace(/\W+/g, "-")}-${look}`)));
    }
    expect(wrong).toEqual([]);
  });
});

test("the list of keys, the lesson, a job that ended well and two runs side by side look as their references", async () => {
  const wrong: string[] = [];
  const options = { reducedMotion: "reduce" } as const;
  const keys = await openPage(pageOf("six_part"), { options });
  await keys.keyboard.press("?");
  await keys.getByRole("dialog", { name: "Keys" }).waitFor();
  wrong.push(...(await pictured(keys, "keys")));
  const lesson = await openPage(template(), { options });
  await lesson.getByRole("button", { name: "start the lesson" }).click();
  await lesson.getByRole("group", { name: "changes" }).waitFor();
  wrong.push(...(await pictured(lesson, "lesson-begun")));
  wrong.push(...(await pictured(await openPage(pageOf("peak_without_an_incident"), { options }), "verdict-without-a-failure")));
  const compared = await openPage(comparisonOf("fragmentation_strict", "survived"), { options });
  await compared.getByRole("tabpanel", { name: "Compare" }).waitFor();
  wrong.push(...(await pictured(compared, "compare-two-runs")));
  expect(wrong).toEqual([]);
});

test.skipIf(kMaking)("a picture that differs, one of another size and one without a reference are called so, with the command that makes one", () => {
  const { width, height } = PNG.sync.read(readFileSync(join(kReferences, "keys.png")));
  const black = (wide: number, high: number) => PNG.sync.write(new PNG({ width: wide, height: high, colorType: 2 }));
  expect(compared("keys", black(width, height))[0]).toMatch(/pixels of keys differ: .*MEMSNAP_NEW_REFERENCES=1/);
  expect(compared("keys", black(width, height + 1))[0]).toContain("keys has another size");
  expect(compared("a view that is not there", black(width, height))[0]).toContain("has no reference");
});
