// SPDX-License-Identifier: Apache-2.0
//
// A page to look at: `npx vite-node tests/support/make_page.ts FIXTURE_OR_RING OUT.html [--template DIST] [OPTIONS of memsnap-replay]`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inTemplate, pageOf } from "./pages";

const [source, out, ...options] = process.argv.slice(2);
if (source === undefined || out === undefined)
  throw new Error("usage: vite-node tests/support/make_page.ts FIXTURE_OR_RING OUT.html [--template DIST]");
const at = options.indexOf("--template");
const [, dist] = at < 0 ? [] : options.splice(at, 2);
const page = pageOf(source, options);
writeFileSync(out, dist === undefined ? page : inTemplate(page, readFileSync(join(dist, "index.html"), "utf8")));
