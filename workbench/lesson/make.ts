// SPDX-License-Identifier: Apache-2.0
//
// The parts of the lesson's incident, made from incident.events. The rule: memsnap-replay makes them as it makes any page; only the mark that the
// incident is made up is added.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, inflateSync } from "node:zlib";
import { libraries, sites, texts } from "./names";
import { sidecar } from "./sidecar";

const kHere = fileURLToPath(new URL(".", import.meta.url));
const kBuild = process.env.MEMSNAP_BUILD ?? join(kHere, "../../build");
const kRingId_offset = 32;

export const kIncident = join(kHere, "incident.json");
export const eventsText = () => readFileSync(join(kHere, "incident.events"), "utf8");

export type Parts = Record<string, string>; // base64 by name

// A ring with its names, made from the text of events.
export function ringOf(text: string, folder: string): string {
  const [events, ring] = [join(folder, "lesson.events"), join(folder, "lesson.bin")];
  writeFileSync(events, text);
  execFileSync(join(kBuild, "fixtures/encode/memsnap-encode"), ["--force", events, ring]);
  const ringId = readFileSync(ring).subarray(kRingId_offset, kRingId_offset + 16);
  writeFileSync(`${ring}.names`, sidecar(ringId, texts, libraries, sites), { mode: 0o600 });
  return ring;
}

// The exit status says what the incident is and is no error.
export function replay(...given: string[]): string {
  const ends = (error: unknown) => [10, 11].includes((error as { status?: number }).status ?? -1);
  try {
    return execFileSync(join(kBuild, "replay/memsnap-replay"), given, { encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    if (ends(error)) return String((error as { stdout: unknown }).stdout);
    throw error;
  }
}

function synthetic(outline: string): string {
  const told = JSON.parse(inflateSync(Buffer.from(outline, "base64")).toString()) as Record<string, unknown>;
  return deflateSync(JSON.stringify({ ...told, file: "lesson", synthetic: true })).toString("base64");
}

export function lessonParts(): Parts {
  const folder = mkdtempSync(join(tmpdir(), "memsnap-lesson-"));
  try {
    const ring = ringOf(eventsText(), folder);
    const page = join(folder, "lesson.html");
    replay(ring, "--html", page);
    const html = readFileSync(page, "utf8");
    const parts: Parts = {};
    for (const [, name, packed] of html.matchAll(/<script type="application\/x-memsnap" data-part="([a-z]+)"[^>]*>([^<]*)<\/script>/g))
      parts[name] = packed.trim();
    return { ...parts, outline: synthetic(parts.outline) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
