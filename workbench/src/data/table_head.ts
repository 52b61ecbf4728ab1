// SPDX-License-Identifier: Apache-2.0
//
// The head of a table: what its bytes are said to be. The rule: it is checked as a whole before a byte of a column is read or an array is made.
import type { ColumnType, Word } from "./column";
import { PageError } from "./error";

export const kCodings = ["plain", "delta", "device", "sparse", "runs", "back", "born", "moved", "freed", "based"] as const;
export type Coding = (typeof kCodings)[number];

const kWords: readonly Word[] = ["kind", "op", "object", "state", "category", "segment_kind"];
const kTypes: readonly ColumnType[] = ["number", "flag", ...kWords];
const kMostRows = 1 << 26;
const kMostColumns = 256;
const kMostWords = 1 << 16;
const kDigits = /^-?[0-9]{1,39}$/;
const kName = /^[a-z][a-z0-9_]{0,63}$/;

export interface ColumnHead {
  name: string;
  type: ColumnType;
  coding: Coding;
  bytes: Uint8Array;
}

export interface TableHead {
  rows: number;
  columns: ColumnHead[];
  words: Record<Word, string[]>;
  large: Map<string, Map<number, string>>; // by column, then row
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown, most: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most;
}

function readJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

export function readTableHead(part: string, bytes: Uint8Array): TableHead {
  const fail = (why: string): never => {
    throw new PageError(part, why);
  };
  if (bytes.length < 4) fail("is cut off before its head");
  const headBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (headBytes > bytes.length - 4) fail("is cut off within its head");
  let json: unknown;
  try {
    json = readJson(bytes.subarray(4, 4 + headBytes));
  } catch {
    fail("has a head that is no JSON");
  }
  if (!isObject(json)) return fail("has a head that is no object");
  const { rows, columns } = json;
  if (!isCount(rows, kMostRows)) return fail(`has no count of rows up to ${kMostRows}`);
  if (!Array.isArray(columns) || columns.length > kMostColumns) return fail("has no list of columns");

  const head: TableHead = { rows, columns: [], words: { kind: [], op: [], object: [], state: [], category: [], segment_kind: [] }, large: new Map() };
  let at = 4 + headBytes;
  const seen = new Set<string>();
  for (const column of columns as unknown[]) {
    if (!isObject(column)) return fail("has a column without a description");
    const name = column.name;
    const type = kTypes.find((it) => it === column.type);
    const coding = kCodings.find((it) => it === column.coding);
    if (typeof name !== "string" || !kName.test(name) || seen.has(name)) return fail("has a column without a name of its own");
    if (type === undefined) return fail(`does not say what the numbers of ${name} are`);
    if (coding === undefined) return fail(`has ${name} in a coding that this page does not know`);
    if (!isCount(column.bytes, bytes.length - at)) return fail(`is cut off within ${name}`);
    seen.add(name);
    head.columns.push({ name, type, coding, bytes: bytes.subarray(at, at + column.bytes) });
    at += column.bytes;
  }
  if (at !== bytes.length) fail("has bytes that no column claims");

  const words = json.words === undefined ? {} : json.words;
  if (!isObject(words)) return fail("has words that are no lists");
  for (const word of kWords) {
    const list = Object.hasOwn(words, word) ? words[word] : [];
    const good = Array.isArray(list) && list.length <= kMostWords && list.every((it) => typeof it === "string" && kName.test(it.toLowerCase()));
    if (!good) return fail(`has no list of words for ${word}`);
    head.words[word] = list as string[];
  }
  const large = json.large === undefined ? {} : json.large;
  if (!isObject(large)) return fail("has large numbers that are no lists");
  for (const [name, list] of Object.entries(large)) {
    if (!seen.has(name) || !Array.isArray(list)) return fail("has large numbers of a column that is not there");
    const cells = new Map<number, string>();
    for (const cell of list as unknown[]) {
      const good = Array.isArray(cell) && cell.length === 2 && isCount(cell[0], rows - 1) && typeof cell[1] === "string" && kDigits.test(cell[1]);
      if (!good) return fail(`has a large number of ${name} that is none`);
      cells.set((cell as [number, string])[0], (cell as [number, string])[1]);
    }
    head.large.set(name, cells);
  }
  return head;
}
