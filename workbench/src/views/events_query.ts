// SPDX-License-Identifier: Apache-2.0
//
// The query of the events table: what its text means. The rule: a term that is not understood is said with its place, and nothing is searched
// for as if it had been understood.
//
//   query = term { blank term }            every term must hold
//   term  = [ "-" ] field op value         "-": must not hold
//         | [ "-" ] text                   part of the kind, call, object, or of the name of the site or phase
//   op    = ":" | "=" | ">" | ">=" | "<" | "<="
//   value = item { "," item }              one of them
//   item  = word | number | number ".." number | "none"
//
// A number may have a unit (KiB MiB GiB), a text may stand in double quotes. Of site, phase, library and dimension a word is part of the name.
import type { Table, Word } from "../data/table";
import { kStepsEnded, stepNumbers } from "./events_steps";

const kNamed = ["site", "phase", "library", "dimension"] as const;
type Named = (typeof kNamed)[number];
export type QueryNames = Record<Named, (ordinal: number) => string>;

export interface QueryError {
  at: number; // letter of the query
  text: string;
}

export type Predicate = (row: number) => boolean;
export type Query = { ok: true; matches: Predicate; empty: boolean } | { ok: false; error: QueryError };

export const kAliases = new Map([
  ["size", "size_bytes"],
  ["offset", "offset_bytes"],
  ["allocated", "allocated_bytes"],
  ["reserved", "reserved_bytes"],
  ["total", "device_total_bytes"],
  ["free", "device_free_bytes"],
  ["others", "others_bytes"],
  ["block", "allocation"],
  ["call", "op"],
  ["time", "time_ns"],
]);
const kFlags = new Map([
  ["nested", 1],
  ["capturing", 2],
  ["from_torch", 4],
  ["imported", 8],
]);
const kUnits = new Map([
  ["", 1],
  ["b", 1],
  ["kib", 2 ** 10],
  ["mib", 2 ** 20],
  ["gib", 2 ** 30],
]);

export interface Term {
  at: number;
  end: number;
  negated: boolean;
  field: string | null; // null: a text
  op: string;
  value: string;
}

export function splitTerms(text: string): Term[] {
  const terms: Term[] = [];
  const pattern = /(-?)(?:([A-Za-z_]+)(>=|<=|[:=<>])("[^"]*"?|[^\s"]+)?|("[^"]*"?|[^\s"]+))/y;
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at])) {
      at += 1;
      continue;
    }
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    const [whole, dash, field, op, value, alone] = match ?? [text.slice(at), "", undefined, undefined, undefined, text.slice(at)];
    const quoted = (value ?? alone ?? "").replace(/^"|"$/g, "");
    terms.push({ at, end: at + whole.length, negated: dash === "-", field: field?.toLowerCase() ?? null, op: op ?? "", value: quoted });
    at += whole.length;
  }
  return terms;
}

function fullName(field: string): string {
  return kAliases.get(field) ?? field;
}

// The query with one field's terms replaced; an empty value takes them out.
export function withTerm(text: string, field: string, replacement: string): string {
  const name = fullName(field);
  const kept = splitTerms(text).filter((term) => term.field === null || term.negated || fullName(term.field) !== name);
  return [...kept.map((term) => text.slice(term.at, term.end)), replacement].filter((part) => part !== "").join(" ");
}

export function termValue(text: string, field: string, ops: string[]): string {
  const found = splitTerms(text).find((term) => term.field === field && !term.negated && ops.includes(term.op));
  return found?.value ?? "";
}

function parseNumber(text: string): number | null {
  const match = /^(-?\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text);
  if (match === null) return null;
  const unit = kUnits.get(match[2].toLowerCase());
  return unit === undefined ? null : Number(match[1]) * unit;
}

type Read = (row: number) => number | null;

// A value beyond 2^53 is compared as near as a double comes to it.
function reader(events: Table, name: string): Read | null {
  const bit = kFlags.get(name);
  if (bit !== undefined) {
    if (!events.has("flags")) return null;
    const flags = events.column("flags");
    return (row) => (((flags.at(row) ?? 0) & bit) === 0 ? 0 : 1);
  }
  if (name === "step" && events.has("step")) return stepNumbers(events);
  const held = name === kStepsEnded ? "step" : name;
  if (!events.has(held)) return null;
  const column = events.column(held);
  return (row) => {
    const value = column.at(row);
    if (value !== null) return value;
    const text = column.text(row);
    return text === "" ? null : Number(text);
  };
}

// Whether a row's name has a text in it. A name is looked at once for each ordinal, not for each row.
function nameHolds(events: Table, name: Named, text: string, names: QueryNames): Predicate {
  const wanted = text.toLowerCase();
  const column = events.column(name);
  const known = new Map<number, boolean>();
  return (row) => {
    const ordinal = column.at(row);
    if (ordinal === null || ordinal === 0) return false;
    let hit = known.get(ordinal);
    if (hit === undefined) known.set(ordinal, (hit = names[name](ordinal).toLowerCase().includes(wanted)));
    return hit;
  };
}

function fieldTerm(events: Table, term: Term, names: QueryNames): Predicate | string {
  const name = fullName(term.field!);
  const read = reader(events, name);
  if (read === null) return `there is no column "${term.field}"`;
  if (term.value === "") return `"${term.field}${term.op}" has no value`;
  if (name === "kind" || name === "op" || name === "object") return wordTerm(events, name, term);
  if (term.op !== ":" && term.op !== "=") {
    const limit = parseNumber(term.value);
    if (limit === null) return `"${term.value}" is no number`;
    return (row) => {
      const value = read(row);
      if (value === null) return false;
      return term.op === ">" ? value > limit : term.op === ">=" ? value >= limit : term.op === "<" ? value < limit : value <= limit;
    };
  }
  const named = kNamed.find((each) => each === name);
  const ranges: [number, number][] = [];
  const held: Predicate[] = [];
  let none = false;
  for (const item of term.value.split(",")) {
    if (item === "none") {
      none = true;
      continue;
    }
    const [low, high] = item.includes("..") ? item.split("..").map(parseNumber) : [parseNumber(item), parseNumber(item)];
    if (low !== null && high !== null && low !== undefined && high !== undefined) ranges.push([low, high]);
    else if (named !== undefined && item !== "") held.push(nameHolds(events, named, item, names));
    else return `"${item}" is no number`;
  }
  return (row) => {
    const value = read(row);
    if (value === null) return none;
    return ranges.some(([low, high]) => value >= low && value <= high) || held.some((holds) => holds(row));
  };
}

function wordTerm(events: Table, name: Word, term: Term): Predicate | string {
  if (term.op !== ":" && term.op !== "=") return `"${name}" is a word: it is the same or not`;
  const column = events.column(name);
  const wanted = new Set<number>();
  for (const item of term.value.split(",")) {
    const index = events.words[name].indexOf(item);
    if (index >= 0) wanted.add(index);
    else if (item !== "none") return `no event of this page has the ${name} "${item}"`;
    else wanted.add(-1);
  }
  return (row) => wanted.has(column.at(row) ?? -1);
}

function textTerm(events: Table, term: Term, names: QueryNames): Predicate {
  const wanted = term.value.toLowerCase();
  const words = (["kind", "op", "object"] as Word[]).map((word) => ({
    column: events.column(word),
    hits: events.words[word].map((text) => text.toLowerCase().includes(wanted)),
  }));
  const named = (["site", "phase"] as const).filter((name) => events.has(name)).map((name) => nameHolds(events, name, wanted, names));
  return (row) =>
    words.some(({ column, hits }) => hits[column.at(row) ?? -1] === true) || named.some((holds) => holds(row));
}

export function compileQuery(text: string, events: Table, names: QueryNames): Query {
  const predicates: Predicate[] = [];
  for (const term of splitTerms(text)) {
    if (term.field === null && term.value === "") continue;
    const made = term.field === null ? textTerm(events, term, names) : fieldTerm(events, term, names);
    if (typeof made === "string") return { ok: false, error: { at: term.at, text: made } };
    predicates.push(term.negated ? (row) => !made(row) : made);
  }
  return { ok: true, empty: predicates.length === 0, matches: (row) => predicates.every((predicate) => predicate(row)) };
}

// Rows that match, in slices, so that the page stays responsive. Null when `current` says that nobody waits for it any more.
export async function matchingRows(rows: number, matches: Predicate, current: () => boolean, pause: () => Promise<void>): Promise<Int32Array | null> {
  const kSlice_rows = 65536;
  let found = new Int32Array(1024);
  let count = 0;
  for (let row = 0; row < rows; row += 1) {
    if (matches(row)) {
      if (count === found.length) {
        const larger = new Int32Array(found.length * 2);
        larger.set(found);
        found = larger;
      }
      found[count++] = row;
    }
    if ((row + 1) % kSlice_rows === 0) {
      await pause();
      if (!current()) return null;
    }
  }
  return found.slice(0, count);
}

// The place of the last element that is not above a value; −1 before the first.
export function lastNotAbove(sorted: Int32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
