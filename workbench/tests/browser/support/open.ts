// SPDX-License-Identifier: Apache-2.0
//
// Opens a page as a person would, from disk. The rule: whatever the page asks for beyond its own file, whatever it logs and whatever its
// policy forbids is a fault, and every test that opens a page fails on one.
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, expect, inject } from "vitest";

export interface Look {
  width?: number;
  height?: number;
  options?: BrowserContextOptions; // colorScheme, reducedMotion, forcedColors, contrast, ...
}

let browser: Browser | null = null;
const faults: string[] = [];
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  expect(faults.splice(0), "the page asked for something, logged something or broke its policy").toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  browser = null;
});

function watch(page: Page, url: string) {
  page.on("request", (request) => {
    if (request.url() !== url && !/^(data|blob):/.test(request.url())) faults.push(`request: ${request.url()}`);
  });
  page.on("websocket", (socket) => faults.push(`websocket: ${socket.url()}`));
  page.on("console", (message) => faults.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.stack ?? error.message}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
}

// What the page did wrong so far; a test that expects it takes it away.
export function takeFaults(): string[] {
  return faults.splice(0);
}

export async function openPage(file: string, look: Look = {}): Promise<Page> {
  browser ??= await chromium.connect(inject("endpoint"));
  const viewport = { width: look.width ?? 1400, height: look.height ?? 900 };
  const context = await browser.newContext({ viewport, colorScheme: "light", ...look.options });
  closing.push(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const url = pathToFileURL(file).href;
  watch(page, url);
  await page.goto(url);
  if (look.options?.javaScriptEnabled !== false) await settled(page);
  return page;
}

// Until the incident is read and its history computed.
export async function settled(page: Page): Promise<void> {
  await page.locator("main:not([aria-busy=true])").waitFor();
}
