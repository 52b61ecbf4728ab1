// SPDX-License-Identifier: Apache-2.0
//
// One file: script and style inline, and a content security policy that names them by hash and allows nothing else:
// text never becomes script or markup, whatever a name looks like.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// The page's static line comes first, so that it is there when the script is cut, and the script before the parts, so that it can say which is.
const SCRIPT = /\n?[ ]*<script type="module"[^>]*>[\s\S]*?<\/script>/;
const PARTS = "<!--memsnap:parts-->";

function withScriptBeforeParts(html: string): string {
  const script = SCRIPT.exec(html)?.[0];
  if (script === undefined || html.split(PARTS).length !== 2) throw new Error(`index.html has no script, or not one ${PARTS}`);
  return html.replace(script, () => "").replace(PARTS, () => `${script.trimStart()}\n    ${PARTS}`);
}

const CHARSET = '<meta charset="utf-8" />';

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
          const html = withScriptBeforeParts(String(file.source));
          if (!html.includes(CHARSET)) throw new Error(`index.html has no ${CHARSET}: the policy stands right after it`);
          const own = `script-src ${hashes(html, "script")}; style-src ${hashes(html, "style")}`;
          const closed = "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
          const policy = `default-src 'none'; ${own}; img-src data: blob:; ${closed}`;
          file.source = html.replace(CHARSET, `${CHARSET}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
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
