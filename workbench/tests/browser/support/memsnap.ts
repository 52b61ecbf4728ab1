// SPDX-License-Identifier: Apache-2.0
//
// Runs memsnap's own programs for the tests of the page. The rule: what a test compares the page with comes from them, never from the page.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const top = fileURLToPath(new URL("../../../..", import.meta.url));
export const build = process.env.MEMSNAP_BUILD ?? join(top, "build");

export interface Done {
  code: number;
  stdout: string;
  stderr: string;
}

function run(program: string, args: string[], input = ""): Done {
  const path = join(build, program);
  if (!existsSync(path)) throw new Error(`${path} is not there: run scripts/build`);
  const done = spawnSync(path, args, { input, encoding: "utf8", maxBuffer: 1 << 30 });
  if (done.status === null) throw new Error(`${program} ${args.join(" ")}: ${done.error?.message ?? done.signal}`);
  return { code: done.status, stdout: done.stdout, stderr: done.stderr };
}

export const JUDGED = [0, 10, 11]; // exit codes of a replay that told a result

export function replay(...args: string[]): Done {
  return run("replay/memsnap-replay", args);
}

// The same where anything but a result is an error.
export function judged(...args: string[]): Done {
  const done = replay(...args);
  if (!JUDGED.includes(done.code)) throw new Error(`memsnap-replay ${args.join(" ")}: exit ${done.code}\n${done.stderr}`);
  return done;
}

export function oracle(...args: string[]): Done {
  return run("oracle/memsnap-oracle", args);
}

// `events` is a text of docs/events.md.
export function encode(events: string, ring: string): void {
  const done = run("fixtures/encode/memsnap-encode", ["--force", "-", ring], events);
  if (done.code !== 0) throw new Error(`memsnap-encode: ${done.stderr}`);
}
