// SPDX-License-Identifier: Apache-2.0
//
// Starts the one browser of all tests, and gives them a folder for the pages that they share.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { browserOptions } from "./browser_options";

declare module "vitest" {
  interface ProvidedContext {
    endpoint: string;
    folder: string;
  }
}

export default async function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), "memsnap-page-"));
  const server = await chromium.launchServer(browserOptions(folder));
  project.provide("endpoint", server.wsEndpoint());
  project.provide("folder", folder);
  return async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  };
}
