// SPDX-License-Identifier: Apache-2.0
//
// Pages to look at, each made once by memsnap-replay and shared by all tests. The rule: nobody changes a page that has a name here.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { encode, judged, top } from "./memsnap";

// Two workers may want the same file at once: each makes one of its own, and the last one stays.
export function made(name: string, make: (path: string) => void): string {
  const path = join(inject("folder"), name);
  if (!existsSync(path)) {
    const own = join(inject("folder"), `${process.pid}-${name}`);
    make(own);
    renameSync(own, path);
  }
  return path;
}

export function fixtureText(name: string): string {
  return readFileSync(join(top, "fixtures", name, "events.txt"), "utf8");
}

export function ringOf(name: string, events: () => string = () => fixtureText(name)): string {
  return made(`${name}.bin`, (path) => encode(events(), path));
}

// The page of a fixture, or of other events under a name of their own.
export function pageOf(name: string, events?: () => string, ...options: string[]): string {
  const ring = ringOf(name, events);
  return made([name, ...options.map((option) => option.replace(/\W/g, ""))].join("-") + ".html", (path) => {
    judged(ring, "--html", path, ...options);
  });
}

// memsnap-replay's template as it is embedded: a page without data.
export function template(): string {
  return made("template.html", (path) => {
    writeFileSync(path, readFileSync(pageOf("six_part"), "utf8").replace(/<script type="application\/x-memsnap"[^>]*>[^<]*<\/script>\s*/g, ""));
  });
}

// What memsnap-replay says of two runs.
export function comparisonOf(before: string, after: string): string {
  return made(`${before}-${after}.html`, (path) => {
    judged("diff", ringOf(before), ringOf(after), "--html", path);
  });
}
