// SPDX-License-Identifier: Apache-2.0
//
// What a file is, told by its first and last bytes, and what reads it. The rule: content decides, never the name; nothing is guessed beyond what
// the bytes say, and a file that the page does not read is answered with the command line that does.
import { quoted } from "./shell";

export type Sort =
  "page" | "receipt" | "diff" | "triage" | "ring" | "sidecar" | "snapshot" | "trace" | "statistics" | "ledger" | "events" | "log" | "none";

export interface Recognised {
  sort: Sort;
  here: boolean; // the page reads it
  what: string; // one sentence
  facts: string[]; // what the bytes tell of it
  command: string | null; // what reads it, or makes of it what the page reads
}

export interface Looked {
  name: string;
  size_bytes: number;
  head: Uint8Array;
  tail: Uint8Array; // may overlap the head
  packed: boolean; // head is what gzip had packed, and tail is empty
}

export const kHead_bytes = 1 << 20;
export const kTail_bytes = 1 << 20;

const kRing = [0x89, 0x4d, 0x45, 0x4d, 0x53, 0x4e, 0x41, 0x50];
const kSidecar = [0x89, 0x4d, 0x45, 0x4d, 0x4e, 0x41, 0x4d, 0x45];
const kByteOrder = 0x01020304;
const kMajor = 1;

// What a log says when memory is short: the commoner ones of memsnap's own list (docs/triage.md). They only choose the words of the answer.
const kShortOfMemory = new RegExp(
  [
    "tried\\s*to\\s*allocate",
    "out\\s*of\\s*memory",
    "RESOURCE_EXHAUSTED",
    "failed\\s*to\\s*allocate",
    "errorMemoryAllocation",
    "_ALLOC_FAILED",
    "OOM\\s*when\\s*allocating",
  ].join("|"),
  "i",
);

function begins(bytes: Uint8Array, magic: number[]): boolean {
  return bytes.length >= magic.length && magic.every((byte, at) => bytes[at] === byte);
}

function stem(name: string, ...endings: string[]): string {
  const ending = endings.find((each) => name.toLowerCase().endsWith(each) && name.length > each.length);
  return ending === undefined ? name : name.slice(0, -ending.length);
}

function toPage(name: string, ...endings: string[]): string {
  return `memsnap-replay ${quoted(name)} --html ${quoted(`${stem(name, ...endings)}.html`)}`;
}

function not(what: string): Recognised {
  return { sort: "none", here: false, what, facts: [], command: null };
}

function grouped(count: number | bigint): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

// The fields that every version has in the same place (interpose/WIRE.md §2).
function ring(file: Looked): Recognised {
  const view = new DataView(file.head.buffer, file.head.byteOffset, file.head.byteLength);
  const answer: Recognised = {
    sort: "ring",
    here: false,
    what: "This is a recording of memsnap's: a ring.",
    facts: [],
    command: toPage(file.name, ".bin", ".ring"),
  };
  if (view.byteLength < 32) return { ...answer, facts: ["It is cut off within its header: nothing of it can be read."], command: null };
  if (view.getUint32(12, true) !== kByteOrder)
    return { ...answer, facts: ["Its byte order is not the one of the format: no build " + "reads it."], command: null };
  const [major, minor] = [view.getUint16(8, true), view.getUint16(10, true)];
  answer.facts.push(`Version of the format: ${major}.${minor}.`);
  if (major !== kMajor) {
    answer.facts.push(`This build of memsnap reads version ${kMajor}; take the one that wrote it.`);
    return answer;
  }
  const stated_bytes = view.getBigUint64(24, true);
  answer.facts.push(
    `It states ${grouped(stated_bytes)} bytes, and the file has ` +
      `${grouped(file.size_bytes)}${stated_bytes > BigInt(file.size_bytes) ? ": it is cut off" : ""}.`,
  );
  return answer;
}

function sidecar(file: Looked): Recognised {
  const ringName = stem(file.name, ".names");
  const known = ringName !== file.name;
  return {
    sort: "sidecar",
    here: false,
    what: "This is the file of names beside a ring. By itself it holds no event; memsnap-replay finds it when it lies beside its ring.",
    facts: known ? [] : ["Its name does not end in .names, so no ring will find it."],
    command: known ? toPage(ringName, ".bin", ".ring") : null,
  };
}

// Pickles of protocol 2 to 5 say so; those of 0 and 1 begin with the dict that a snapshot is.
function isPickle(head: Uint8Array): boolean {
  if (head.length < 4) return false;
  if (head[0] === 0x80) return head[1] >= 2 && head[1] <= 5;
  const text = String.fromCharCode(...head.subarray(0, 4));
  return text.startsWith("(dp") || text.startsWith("(d.") || text.startsWith("}q\0") || text.startsWith("}.");
}

function holds(bytes: Uint8Array, words: string[]): boolean {
  const text = new TextDecoder("latin1").decode(bytes);
  return words.some((word) => text.includes(word));
}

function pickle(file: Looked): Recognised {
  const told = holds(file.head, ["segments", "device_traces"]);
  return {
    sort: "snapshot",
    here: false,
    what: told
      ? "This is a memory snapshot of PyTorch's. memsnap-replay reads it where it takes a ring."
      : "This is a pickle. If it is a memory snapshot of PyTorch's, memsnap-replay reads it; of anything else it says what " + "is wrong.",
    facts: [
      "Where the snapshot does not tell what the card has, add --card, such as " + "--card 80GiB.",
      "A pickle is never executed: only plain data is read from it.",
    ],
    command: toPage(file.name, ".pickle", ".pkl"),
  };
}

function html(text: string): Recognised {
  if (text.includes("application/x-memsnap")) return { sort: "page", here: true, what: "This is a page of memsnap's.", facts: [], command: null };
  if (/MemoryViz|_memory_viz|trace_plot/.test(text))
    return not("This is a page of PyTorch's memory_viz. Give memsnap-replay the snapshot (.pickle) that it was " + "made of.");
  return not("This is a page of something else than memsnap.");
}

const kSchemas: [RegExp, string][] = [
  [/^\{"capture":\{"arm_state":/, "receipt.v1"],
  [/^\{"after":\{"answer":/, "diff.v1"],
  [/^\{"bytes_read":\d+,"digest":/, "triage.v1"],
];

// Canonical text has its members in a known order, so that the first ones tell; any other text may name its schema anywhere.
function schemaOf(head: string, tail: string): string | null {
  const named = /"schema"\s*:\s*"memsnap\.([a-z]{1,16}\.v\d{1,4})"/;
  return named.exec(head)?.[1] ?? named.exec(tail)?.[1] ?? kSchemas.find(([begin]) => begin.test(head))?.[1] ?? null;
}

function json(file: Looked, head: string, tail: string): Recognised | null {
  const schema = schemaOf(head, tail);
  if (schema === "receipt.v1") return { sort: "receipt", here: true, what: "This is a receipt of memsnap's.", facts: [], command: null };
  if (schema === "diff.v1") return { sort: "diff", here: true, what: "This is a comparison of memsnap's.", facts: [], command: null };
  if (schema === "triage.v1")
    return {
      sort: "triage",
      here: false,
      what: "This is memsnap's verdict on the text of a log, as JSON. It holds no events to draw; run triage on the log for its " + "screen.",
      facts: [],
      command: "memsnap-replay triage LOG",
    };
  if (schema !== null) return not(`This says it is memsnap.${schema}: this page reads receipt.v1 and diff.v1.`);
  if (tail.includes('"format":"memsnap.perfetto.v1"'))
    return not("This is memsnap's export for ui.perfetto.dev. Open it there; for this page take the recording that it was " + "made of.");
  if (head.includes('"traceEvents"') || /^\s*\[\s*\{[^{}]*"ph"\s*:/.test(head)) return trace(file);
  if (head.includes("allocated_bytes.all.current") || head.includes('"allocated_bytes"'))
    return {
      sort: "statistics",
      here: false,
      what: "These are PyTorch's memory statistics. They hold no events; triage joins them with the error " + "in a log.",
      facts: [],
      command: `memsnap-replay triage ${quoted(file.name)}`,
    };
  return null;
}

function trace(file: Looked): Recognised {
  return {
    sort: "trace",
    here: false,
    what: "This is a trace in Chrome's form, as PyTorch's profiler writes it. memsnap-replay reads it where it takes a ring.",
    facts: ["It needs events of device memory: profile_memory=True.", "Segments are not in a trace, so holes stay unknown."],
    command: toPage(file.name, ".json.gz", ".json"),
  };
}

function utf16(head: Uint8Array): string | null {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  return null;
}

function text(file: Looked, head: string, tail: string): Recognised {
  if (head.startsWith("ticket,kind,op,device,"))
    return {
      sort: "ledger",
      here: false,
      what: "This is a ledger of memsnap's. The page has the same rows; open the page of its ring.",
      facts: ["To prove the file, compare it with its ring."],
      command: `memsnap-replay check --csv ${quoted(file.name)} RING`,
    };
  if (head.startsWith("memsnap-events "))
    return {
      sort: "events",
      here: false,
      what: "This is a recording as text. It becomes a ring first.",
      facts: [],
      command: `memsnap-encode ${quoted(file.name)} ring.bin && memsnap-replay ring.bin --html incident.html`,
    };
  const told = kShortOfMemory.test(head) || kShortOfMemory.test(tail);
  const short = file.size_bytes <= file.head.length;
  const where = short ? "It says nothing about memory." : "Its first and last MiB say nothing about memory; triage reads all of it.";
  return {
    sort: "log",
    here: false,
    what: told
      ? "This is text that speaks of memory that ran out, such as a log. triage finds each error and says what its numbers " + "settle."
      : "This is text.",
    facts: told ? [] : [where],
    command: `memsnap-replay triage ${quoted(file.name)}`,
  };
}

const kOthers: [number[], string][] = [
  [[0x50, 0x4b, 0x03, 0x04], "a zip archive, such as torch.save writes: a checkpoint holds tensors, not what the allocator did"],
  [[0x53, 0x51, 0x4c, 0x69, 0x74, 0x65], "an SQLite database, such as Nsight Systems exports"],
  [[0x7f, 0x45, 0x4c, 0x46], "a program or library (ELF)"],
  [[0x89, 0x50, 0x4e, 0x47], "a picture (PNG)"],
  [[0x25, 0x50, 0x44, 0x46], "a PDF"],
  [[0x28, 0xb5, 0x2f, 0xfd], "packed by zstd: unpack it first"],
  [[0x42, 0x5a, 0x68], "packed by bzip2: unpack it first"],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], "packed by xz: unpack it first"],
  [[0x1f, 0x8b], "packed by gzip, and damaged"],
];

export const kNothing =
  "It is no page, receipt or comparison of memsnap's, no ring, no memory snapshot or profiler's trace of PyTorch's, and " + "no text.";

// Of what gzip packed, only traces are read packed.
function unpackedFirst(found: Recognised): Recognised {
  if (found.sort === "trace") return found;
  return { ...found, here: false, what: `${found.what} It is packed by gzip: unpack it first.`, command: null };
}

function unpacked(file: Looked): Recognised {
  const { head } = file;
  if (file.size_bytes === 0) return not("The file is empty.");
  if (begins(head, kRing)) return ring(file);
  if (begins(head, kSidecar)) return sidecar(file);
  const other = kOthers.find(([magic]) => begins(head, magic));
  if (other !== undefined) return not(`This is ${other[1]}.`);
  if (isPickle(head)) return pickle(file);
  const wide = utf16(head);
  if (wide === null && head.includes(0)) return not(`This is data of another kind. ${kNothing}`);
  const decode = (bytes: Uint8Array) => new TextDecoder(wide ?? "utf-8").decode(bytes);
  const [headText, tailText] = [decode(head).trimStart(), decode(file.tail)];
  if (/^<(!doctype html|html)\b/i.test(headText)) return html(headText);
  const found = /^[{[]/.test(headText) ? json(file, headText, tailText) : null;
  return found ?? text(file, headText, tailText);
}

export function recognise(file: Looked): Recognised {
  const found = unpacked(file);
  return file.packed ? unpackedFirst(found) : found;
}
