// SPDX-License-Identifier: Apache-2.0
//
// A page's parts as bytes, and pages with one of them changed. The rule: written from docs/page.md alone, none of the page's own code is used.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { inject } from "vitest";

const kPart = /<script type="application\/x-memsnap" data-part="(\w+)"[^>]*>([^<]*)<\/script>/g;

export function partsOf(file: string): Map<string, Buffer> {
  const html = readFileSync(file, "utf8");
  return new Map([...html.matchAll(kPart)].map(([, name, packed]) => [name, inflateSync(Buffer.from(packed, "base64"))]));
}

export function packed(bytes: Buffer | string): string {
  return deflateSync(Buffer.from(bytes)).toString("base64");
}

// The page with each part's packed text as `change` gives it; null: left out.
export function changedPage(file: string, name: string, change: (part: string, packed: string) => string | null): string {
  const html = readFileSync(file, "utf8").replace(kPart, (whole: string, part: string, text: string) => {
    const changed = change(part, text);
    return changed === null ? "" : whole.replace(text, () => changed);
  });
  const path = join(inject("folder"), name);
  writeFileSync(path, html);
  return path;
}
