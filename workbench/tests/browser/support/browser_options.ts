// SPDX-License-Identifier: Apache-2.0
//
// How the tests start Debian's Chromium. The rule: it sees one family of fonts and no name server, so that pages look the same on every
// machine and nothing can be reached.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const EXECUTABLE = "/usr/bin/chromium";
const FONTS = "/usr/share/fonts/truetype/dejavu";

function required(path: string, what: string): string {
  if (!existsSync(path)) throw new Error(`${what} is not here (${path}): run scripts/setup`);
  return path;
}

export function browserOptions(folder: string) {
  const fonts = join(folder, "fonts.conf");
  const dir = required(FONTS, "the folder of the DejaVu fonts");
  const family = (name: string, font: string) => `<alias binding="same"><family>${name}</family><prefer><family>${font}</family></prefer></alias>`;
  const families = [family("sans-serif", "DejaVu Sans"), family("system-ui", "DejaVu Sans"), family("monospace", "DejaVu Sans Mono")];
  writeFileSync(fonts, `<fontconfig><dir>${dir}</dir><cachedir>${folder}/fonts</cachedir>${families.join("")}</fontconfig>`);
  return {
    executablePath: required(EXECUTABLE, "Chromium"),
    args: [
      "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND", "--font-render-hinting=none", "--disable-lcd-text",
      "--force-color-profile=srgb",
    ],
    env: { ...process.env, FONTCONFIG_FILE: fonts, LANG: "C.UTF-8" },
  };
}
