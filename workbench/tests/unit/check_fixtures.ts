// SPDX-License-Identifier: Apache-2.0
//
// Every fixture as memsnap-replay tells it, made once for the tests of the checks. The rule: what the programs of the build print, nothing kept.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Incident } from "../../src/data/incident";
import { openIncident } from "../../src/data/open";
import { partsOfText } from "../../src/data/parts";

const kRoot = fileURLToPath(new URL("../../..", import.meta.url));
const kBuild = process.env.MEMSNAP_BUILD ?? join(kRoot, "build");

export interface Told {
  name: string;
  receipt: string; // the text
  ledger: string;
}

export function ringOf(name: string, folder: string): string {
  const ring = join(folder, `${name}.bin`);
  execFileSync(join(kBuild, "fixtures/encode/memsnap-encode"), [join(kRoot, "fixtures", name, "events.txt"), ring]);
  return ring;
}

export function fixtureNames(): string[] {
  return readdirSync(join(kRoot, "fixtures")).filter((name) => existsSync(join(kRoot, "fixtures", name, "events.txt")));
}

// A fixture that is refused has neither.
export function toldOf(names: readonly string[]): Told[] {
  const folder = mkdtempSync(join(tmpdir(), "memsnap-checks-"));
  try {
    return names.flatMap((name) => {
      const [receipt, ledger] = [join(folder, `${name}.json`), join(folder, `${name}.csv`)];
      spawnSync(join(kBuild, "replay/memsnap-replay"), [ringOf(name, folder), "--json", receipt, "--csv", ledger]);
      return existsSync(receipt) ? [{ name, receipt: readFileSync(receipt, "utf8"), ledger: readFileSync(ledger, "utf8") }] : [];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The page of a ring as memsnap-replay writes it, opened as a browser would.
export async function openRing(ring: string, folder: string, options: readonly string[] = []): Promise<Incident> {
  const page = join(folder, `${basename(ring)}.html`);
  const { stderr } = spawnSync(join(kBuild, "replay/memsnap-replay"), [ring, "--html", page, "--force", ...options], { encoding: "utf8" });
  if (!existsSync(page)) throw new Error(`no page of ${ring}: ${stderr}`);
  const packed = partsOfText(readFileSync(page, "utf8"));
  if (packed === null) throw new Error(`the page of ${ring} holds no parts`);
  return (await openIncident(packed.before)).rest();
}

export async function openFixture(name: string, options: readonly string[] = []): Promise<Incident> {
  const folder = mkdtempSync(join(tmpdir(), "memsnap-checks-"));
  try {
    return await openRing(ringOf(name, folder), folder, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
