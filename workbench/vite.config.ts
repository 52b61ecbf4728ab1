// SPDX-License-Identifier: Apache-2.0
//
// One file: script and style inline, and a content security policy that names them by hash and allows nothing else.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

function hashes(html: string, tag: string): string {
  const found = [...html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, "g"))];
  return found.map((match) => `'sha256-${createHash("sha256").update(match[1]).digest("base64")}'`).join(" ");
}

function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
          const html = String(file.source);
          const policy = `default-src 'none'; script-src ${hashes(html, "script")}; style-src ${hashes(html, "style")}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
          file.source = html.replace('<meta charset="utf-8" />', `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
        }
      },
    },
  };
}

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: { outDir: "dist", emptyOutDir: true, target: "es2022", reportCompressedSize: false, assetsInlineLimit: Infinity, modulePreload: false },
  plugins: [viteSingleFile(), contentSecurityPolicy()],
});
