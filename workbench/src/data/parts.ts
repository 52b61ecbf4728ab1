// SPDX-License-Identifier: Apache-2.0
//
// The parts of a page: found in this document or in the text of another page, and unpacked. The rule: nothing is evaluated; a part is base64
// of a zlib stream that stays within its bound, or it is refused.
import { PageError } from "./error";
import { Slices } from "./slices";

export type Side = "before" | "after";
export type Packed = ReadonlyMap<string, string>; // base64 by the part's name

export interface PackedPage {
  before: Packed;
  after: Packed | null;
  diff: string | null; // base64
}

const kCharactersAStep = 1 << 20; // a multiple of four
const kMostBytes = 1 << 30;
const kPart = /^[a-z]{1,32}$/;

function gather(found: Iterable<{ part: string; side: string; text: string }>): PackedPage | null {
  const sides: Record<Side, Map<string, string>> = { before: new Map(), after: new Map() };
  let diff: string | null = null;
  for (const { part, side, text } of found) {
    if (!kPart.test(part)) continue;
    if (part === "diff") {
      diff = text;
      continue;
    }
    const of = sides[side === "after" ? "after" : "before"];
    if (of.has(part)) throw new PageError(part, "is there twice");
    of.set(part, text);
  }
  if (sides.before.size === 0) return null;
  return { before: sides.before, after: sides.after.size === 0 ? null : sides.after, diff };
}

// null: a page without data.
export function partsOfDocument(document: Document): PackedPage | null {
  const scripts = document.querySelectorAll<HTMLScriptElement>('script[type="application/x-memsnap"][data-part]');
  return gather([...scripts].map((it) => ({ part: it.dataset.part ?? "", side: it.dataset.side ?? "before", text: it.textContent ?? "" })));
}

const kOpening = '<script type="application/x-memsnap"';
const kClosing = "</script>";

// null: no page of memsnap's, or one without data.
export function partsOfText(html: string): PackedPage | null {
  const found: { part: string; side: string; text: string }[] = [];
  for (let at = html.indexOf(kOpening); at >= 0; at = html.indexOf(kOpening, at)) {
    const begin = html.indexOf(">", at);
    const end = begin < 0 ? -1 : html.indexOf(kClosing, begin);
    if (end < 0) break;
    const attributes = html.slice(at + kOpening.length, Math.min(begin, at + 512));
    const attribute = (name: string) => new RegExp(` data-${name}="([^"]*)"`).exec(attributes)?.[1];
    found.push({ part: attribute("part") ?? "", side: attribute("side") ?? "before", text: html.slice(begin + 1, end) });
    at = end;
  }
  return gather(found);
}

async function fromBase64(part: string, packed: string, slices: Slices): Promise<Uint8Array<ArrayBuffer>> {
  const text = packed.trim();
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (text.length % 4 !== 0) throw new PageError(part, "is cut off");
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let to = 0;
  for (let from = 0; from < text.length; from += kCharactersAStep) {
    let binary: string;
    try {
      binary = atob(text.slice(from, from + kCharactersAStep));
    } catch {
      throw new PageError(part, "is damaged: it is no base64");
    }
    if (to + binary.length > bytes.length) throw new PageError(part, "is damaged: it is no base64");
    for (let index = 0; index < binary.length; ++index) bytes[to + index] = binary.charCodeAt(index);
    to += binary.length;
    if (slices.spent) await slices.breathe();
  }
  if (to !== bytes.length) throw new PageError(part, "is damaged: it is no base64");
  return bytes;
}

async function inflate(part: string, bytes: Uint8Array<ArrayBuffer>, mostBytes: number): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined")
    throw new PageError(part, "cannot be unpacked: this browser has no DecompressionStream", "open the page in a browser of 2023 or later");
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  const written = writer.write(bytes).then(() => writer.close());
  written.catch(() => undefined); // the reader says it
  const reader = stream.readable.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      chunks.push(read.value);
      length += read.value.length;
      if (length > mostBytes) break;
    }
    if (length <= mostBytes) await written;
  } catch {
    throw new PageError(part, "is damaged or cut off");
  }
  if (length > mostBytes) {
    await reader.cancel().catch(() => undefined);
    throw new PageError(part, `is larger than ${mostBytes} bytes`);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export async function unpack(part: string, packed: string, mostBytes: number = kMostBytes): Promise<Uint8Array> {
  return inflate(part, await fromBase64(part, packed, new Slices()), mostBytes);
}

export function partOf(parts: Packed, part: string): string {
  const packed = parts.get(part);
  if (packed === undefined) throw new PageError(part, "is missing from this page");
  return packed;
}
