// SPDX-License-Identifier: Apache-2.0
//
// Incidents of a few rows, written by hand. The rule: a row says what it is about; whatever it does not say is empty, and what an event of its
// kind always has is filled in.
import { decodeTable } from "../../src/data/decode";
import type { Incident } from "../../src/data/incident";
import { kBeginColumns, kEventColumns } from "../../src/data/open";
import type { Receipt } from "../../src/data/receipt";
import { type Cell, encodeTable, type TableToEncode } from "./encode_table";

export type MadeRow = Record<string, number | string | null>;

const kCodings: Record<string, string> = { ticket: "delta", size_bytes: "sparse" };
const kWordColumns = ["kind", "op", "object", "state", "category", "segment_kind"];

function tableOf(rows: MadeRow[], expected: Readonly<Record<string, string>>, first: string[]): TableToEncode {
  const names = [...first, ...Object.keys(expected).filter((name) => !first.includes(name))];
  const words: Record<string, string[]> = {};
  for (const name of kWordColumns)
    words[name] = [...new Set(rows.map((row) => row[name]).filter((it): it is string => typeof it === "string"))].sort();
  const cell = (row: MadeRow, name: string): Cell => {
    const value = row[name] ?? null;
    return typeof value === "string" ? words[name].indexOf(value) : value;
  };
  return {
    rows: rows.length,
    words,
    columns: names.map((name) => ({ name, type: expected[name], coding: kCodings[name] ?? "plain", cells: rows.map((row) => cell(row, name)) })),
  };
}

const kFirst = ["ticket", "kind", "device", "allocation", "size_bytes"];

export function eventsTable(rows: MadeRow[]): TableToEncode {
  const full = rows.map((row, at) => ({
    ticket: at,
    op: "none",
    device: 0,
    thread: 1,
    library: 0,
    site: 0,
    phase: 0,
    step: 0,
    code: 0,
    flags: 0,
    ...row,
  }));
  return tableOf(full, kEventColumns, kFirst);
}

export function beginTable(rows: MadeRow[]): TableToEncode {
  return tableOf(
    rows.map((row) => ({ op: "none", object: "none", device: 0, flags: 0, from_torch: 0, site: 0, phase: 0, step: 0, ...row })),
    kBeginColumns,
    [],
  );
}

export async function madeIncident(
  rows: MadeRow[],
  begin: MadeRow[] = [],
  failure: { ticket: number; device: number } | null = null,
): Promise<Incident> {
  const before = await decodeTable("begin", encodeTable(beginTable(begin)), null, kBeginColumns);
  const events = await decodeTable("events", encodeTable(eventsTable(rows)), null, kEventColumns);
  const receipt = { capture: { start_mode: "from_birth" }, evidence: { failure } } as unknown as Receipt;
  const window = { first_ticket: 0, exact_first_ticket: begin.some((it) => it.object === undefined) ? 1 : 0, births_known_from_ticket: 0 };
  return { outline: { window }, receipt, begin: before, events } as unknown as Incident;
}

export const MiB = 2 ** 20;

// Rows of the kinds that most tests need.
export const ok = (op: string, object: string, ticket: number, place: number, size: number, more: MadeRow = {}): MadeRow => ({
  kind: "ok",
  op,
  object,
  ticket,
  allocation: ticket,
  place_bytes: place,
  size_bytes: size,
  flags: 4,
  ...more,
});
export const free = (op: string, birth: number | null, more: MadeRow = {}): MadeRow => ({ kind: "free", op, allocation: birth, flags: 4, ...more });
export const block = (
  ticket: number,
  place: number,
  size: number,
  allocated: number | null,
  reserved: number | null,
  more: MadeRow = {},
): MadeRow => ({
  kind: "block_alloc",
  object: "block",
  ticket,
  allocation: ticket,
  place_bytes: place,
  size_bytes: size,
  allocated_bytes: allocated,
  reserved_bytes: reserved,
  ...more,
});
export const freed = (
  ticket: number,
  birth: number | null,
  place: number,
  size: number,
  allocated: number | null,
  reserved: number | null,
  more: MadeRow = {},
): MadeRow => ({
  kind: "block_free",
  object: "block",
  ticket,
  allocation: birth,
  place_bytes: place,
  size_bytes: size,
  allocated_bytes: allocated,
  reserved_bytes: reserved,
  ...more,
});
