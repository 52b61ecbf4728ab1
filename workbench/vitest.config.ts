// SPDX-License-Identifier: Apache-2.0
//
// Two kinds of tests: units in Node.js, and pages in Chromium. The rule: one browser and one set of pages for all files of the second kind.
import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  server: { fs: { allow: [".."] } }, // the ledger's document is read for what columns mean
  test: {
    pool: "forks",
    setupFiles: ["tests/support/breathe.ts"],
    poolOptions: { forks: { minForks: 1, maxForks: 2 } },
    testTimeout: 120_000, // a test that hangs ends; no test is about time by the clock
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          globalSetup: ["tests/browser/support/global_setup.ts"],
        },
      },
    ],
  },
});
