// SPDX-License-Identifier: Apache-2.0
//
// How the page calls sites, frames, phases, libraries and dimensions. The rule: a name that was told, else the token, else what is known
// instead; a text from the job is shown with nothing in it that could steer the page's own text.
import { sizeText } from "../parts/units";
import type { Frame, Names, SiteName } from "./incident";

// A page may be allowed to hold names and have none, when there was no sidecar, and one that says it has none is not believed.
export function holdsNames(names: Names): boolean {
  const told = [names.phases, names.libraries, names.dimensions].some((list) => list.some((one) => one.name !== undefined));
  const framed = names.frames.some((frame) => frame.function !== undefined || frame.file !== undefined);
  return told || framed || names.sites.some((one) => one.label !== undefined);
}

export type Code = "own" | "torch" | "library" | "native" | "unknown"; // whose a frame is

const kLibraryFolders = ["/site-packages/", "/dist-packages/", "/lib/python3.", "/python/memsnap/"];
// Control, zero-width and direction characters.
const kSteering = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export function plainText(text: string): string {
  return text.replace(kSteering, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function codeOf(frame: Frame): Code {
  if (frame.file === undefined && frame.function === undefined) return "unknown";
  const file = frame.file ?? "";
  if (file.includes("/torch/") || /^lib(torch|c10)/.test(file)) return "torch";
  if (frame.native === true) return "native";
  if (file.startsWith("<frozen ") || kLibraryFolders.some((folder) => file.includes(folder))) return "library";
  return "own";
}

function lineText(frame: Frame): string {
  return frame.line === null || frame.line === undefined ? "" : `:${frame.line}`;
}

// function (file:line)
export function frameLabel(frame: Frame): string {
  if (frame.function === undefined && frame.file === undefined) return frame.token ?? "frame not known";
  const place = (frame.file ?? "").replace(/^.*\//, "") + lineText(frame);
  const name = frame.function ?? "";
  return plainText(name === "" ? place : place === "" ? name : `${name} (${place})`);
}

// The same with the whole path.
export function frameDetail(frame: Frame): string {
  if (frame.function === undefined && frame.file === undefined) return frame.token ?? "frame not known";
  return plainText(`${frame.function ?? ""} ${frame.file ?? ""}${lineText(frame)}`.trim());
}

// Lookups by ordinal, made once for an incident.
export class NameBook {
  private readonly siteByOrdinal = new Map<number, SiteName>();
  private readonly phaseByOrdinal = new Map<number, string>();
  private readonly libraryByOrdinal = new Map<number, string>();
  private readonly dimensionByOrdinal = new Map<number, string>();

  constructor(private readonly names: Names) {
    for (const it of names.sites) this.siteByOrdinal.set(it.site, it);
    for (const it of names.phases) this.phaseByOrdinal.set(it.phase, it.name ?? it.word ?? it.token);
    for (const it of names.libraries) this.libraryByOrdinal.set(it.library, it.name ?? it.token ?? "not named");
    for (const it of names.dimensions) this.dimensionByOrdinal.set(it.dimension, it.name ?? it.token);
  }

  entry(site: number): SiteName | null {
    return this.siteByOrdinal.get(site) ?? null;
  }

  // One line, as the terminal's report has it.
  site(site: number): string {
    const it = this.siteByOrdinal.get(site);
    if (site === 0 || it === undefined) return "site not known";
    if (it.label !== undefined && it.label !== "") return plainText(it.label);
    if (it.size_bytes !== undefined) return `blocks of ${sizeText(it.size_bytes)}`;
    return it.token ?? `site ${site}`;
  }

  // From the root.
  frames(site: number): Frame[] {
    return (this.siteByOrdinal.get(site)?.frames ?? []).map((index) => this.names.frames[index]);
  }

  phase(phase: number): string {
    return phase === 0 ? "no phase" : plainText(this.phaseByOrdinal.get(phase) ?? `phase ${phase}`);
  }

  library(library: number): string {
    return library === 0 ? "library not named" : plainText(this.libraryByOrdinal.get(library) ?? `library ${library}`);
  }

  dimension(dimension: number): string {
    return plainText(this.dimensionByOrdinal.get(dimension) ?? `dimension ${dimension}`);
  }
}
