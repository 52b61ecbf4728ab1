// SPDX-License-Identifier: Apache-2.0
//
// Pages of recordings and fixtures. The rule: memsnap-replay's own (of the build folder, or of MEMSNAP_BUILD); only what is around its parts may
// be another build of the template.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const kBuild = process.env.MEMSNAP_BUILD ?? fileURLToPath(new URL("../../../build", import.meta.url));
const kMarker = "<!--memsnap:parts-->";
const kParts = /<script type="application\/x-memsnap"[^>]*>[^<]*<\/script>/g;
const kReplayed = [0, 10, 11];

// With the page's parts in another template.
export function inTemplate(page: string, template: string): string {
  return template.replace(kMarker, () => (page.match(kParts) ?? []).join("\n"));
}

// The text of the page of a recording, or of a fixture's folder.
export function pageOf(source: string, options: string[] = []): string {
  const folder = mkdtempSync(join(tmpdir(), "make_page-"));
  try {
    const [ring, html] = [join(folder, "ring.bin"), join(folder, "page.html")];
    const fixture = statSync(source).isDirectory();
    if (fixture) execFileSync(join(kBuild, "fixtures/encode/memsnap-encode"), [join(source, "events.txt"), ring]);
    const made = spawnSync(join(kBuild, "replay/memsnap-replay"), [fixture ? ring : source, "--html", html, ...options], { encoding: "utf8" });
    if (!kReplayed.includes(made.status ?? -1)) throw new Error(`memsnap-replay: ${made.stderr}`);
    return readFileSync(html, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
