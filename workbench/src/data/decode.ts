// SPDX-License-Identifier: Apache-2.0
//
// Decodes a table (docs/page.md, "Tables"). The rule: an array is made only for rows that have bytes, and every code, count and index is
// checked; whatever is wrong is a PageError that names the part and the column.
import { Codes } from "./codes";
import { type Column, type ColumnType, type Layout, StoredColumn, type Values, type Word } from "./column";
import { PageError } from "./error";
import { Slices } from "./slices";
import type { Table } from "./table";
import { type Coding, type ColumnHead, readTableHead, type TableHead } from "./table_head";

const kRowsAStep = 8192;
const kLeastInt32 = -2147483648; // stands for empty in an Int32Array
const kGreatestInt32 = 2147483647;

const kNone = -1;
const kNotLooked = -2;

// For each row the row where its `allocation` was born, looked up once for all columns.
class Births {
  private readonly found: Int32Array;
  private gaps = 0; // tickets that are missing before the birth found last: few, and the next one is near

  constructor(
    private readonly ticket: Column,
    private readonly allocation: Column,
    rows: number,
  ) {
    this.found = new Int32Array(rows).fill(kNotLooked);
  }

  // An earlier row; −1: none.
  row(row: number): number {
    if (this.found[row] === kNotLooked) this.found[row] = this.look(row);
    return this.found[row];
  }

  private look(row: number): number {
    const wanted = this.allocation.number(row);
    const most = wanted - this.ticket.number(0); // where no ticket is missing
    if (!(most >= 0)) return kNone;
    const guess = most - this.gaps;
    if (guess >= 0 && guess < row && this.ticket.number(guess) === wanted) return guess;
    let low = 0;
    let high = Math.min(row, most + 1);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ticket.number(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    if (low >= row || this.ticket.number(low) !== wanted) return kNone;
    this.gaps = most - low;
    return low;
  }
}

// Values of a column while it is decoded, in the smallest array that holds them.
class Growing {
  array: Values;
  length = 0;

  constructor(capacity: number) {
    this.array = new Uint8Array(capacity).fill(255);
  }

  push(value: number): void {
    this.set(this.length, value);
  }

  set(index: number, value: number): void {
    if (index >= this.array.length) this.copy(this.array, Math.max(16, this.array.length * 2, index + 1));
    let array = this.array;
    if (array instanceof Uint8Array && !(value >= 0 && value < 255) && !Number.isNaN(value)) array = this.widen(value);
    else if (array instanceof Int32Array && !(value > kLeastInt32 && value <= kGreatestInt32) && !Number.isNaN(value)) array = this.widen(value);
    array[index] = Number.isNaN(value) ? this.empty : value;
    if (index >= this.length) this.length = index + 1;
  }

  get(index: number): number {
    const value = this.array[index];
    return value === this.empty ? NaN : value;
  }

  get empty(): number {
    return this.array instanceof Uint8Array ? 255 : this.array instanceof Int32Array ? kLeastInt32 : NaN;
  }

  trimmed(): Values {
    return this.length === this.array.length ? this.array : this.array.slice(0, this.length);
  }

  private copy(from: Values, capacity: number): void {
    const make = from instanceof Uint8Array ? Uint8Array : from instanceof Int32Array ? Int32Array : Float64Array;
    const to: Values = new make(capacity);
    to.fill(this.empty).set(from);
    this.array = to;
  }

  private widen(value: number): Values {
    const from = this.array;
    const fits = value > kLeastInt32 && value <= kGreatestInt32 && Number.isInteger(value) && from instanceof Uint8Array;
    const to = fits ? new Int32Array(from.length).fill(kLeastInt32) : new Float64Array(from.length).fill(NaN);
    const empty = this.empty;
    for (let index = 0; index < this.length; ++index) if (from[index] !== empty) to[index] = from[index];
    this.array = to;
    return to;
  }
}

class Decoder {
  readonly columns = new Map<string, Column>();
  private births: Births | null = null;

  constructor(
    readonly part: string,
    readonly head: TableHead,
    private readonly events: Table | null, // that the rows are of; null: the table itself
  ) {}

  private near(name: string, user: string): Column {
    if (this.events !== null) {
      if (this.events.rows < this.head.rows) throw new PageError(this.part, "has more rows than events");
      return this.events.column(name);
    }
    const column = this.columns.get(name);
    if (column === undefined) throw new PageError(this.part, `has ${user} before ${name}, which it needs`);
    return column;
  }

  *column(it: ColumnHead): Generator<void, Column> {
    const part = `${this.part}.${it.name}`;
    const large = this.head.large.get(it.name) ?? new Map<number, string>();
    const words = it.type === "number" || it.type === "flag" ? null : this.head.words[it.type as Word];
    const codes = new Codes(it.bytes, part);
    const stored = (layout: Layout, values: Growing, starts: Int32Array) => {
      if (words !== null) checkWords(part, values, words.length);
      if (it.type === "flag") checkWords(part, values, 2);
      if (!codes.ended) throw new PageError(part, "has more numbers than rows");
      return new StoredColumn(it.name, it.type, layout, values.trimmed(), starts, values.empty, large, words);
    };
    if (it.coding === "sparse") {
      const [values, starts] = yield* this.sparse(codes, it.bytes);
      return stored("rows", values, starts);
    }
    if (it.coding === "runs") {
      const [values, starts] = yield* this.runs(codes, it.bytes);
      return stored("runs", values, starts);
    }
    if (it.bytes.length < this.head.rows) throw new PageError(part, "has fewer numbers than rows");
    const values = new Growing(this.head.rows);
    yield* this.every(it, codes, values);
    values.length = this.head.rows;
    return stored("every", values, new Int32Array(0));
  }

  private *sparse(codes: Codes, bytes: Uint8Array): Generator<void, [Growing, Int32Array]> {
    const values = new Growing(0);
    const rows = new Int32Array(bytes.length >> 1);
    let row = -1;
    while (!codes.ended) {
      const skipped = codes.count(this.head.rows - row - 2);
      row += skipped + 1;
      rows[values.length] = row;
      values.push(codes.difference(0, 0, codes.next(), 0));
      if (values.length % kRowsAStep === 0) yield;
    }
    return [values, rows.slice(0, values.length)];
  }

  private *runs(codes: Codes, bytes: Uint8Array): Generator<void, [Growing, Int32Array]> {
    const values = new Growing(0);
    const starts = new Int32Array(bytes.length >> 1);
    let row = 0;
    while (!codes.ended) {
      starts[values.length] = row;
      row += codes.count(this.head.rows - row);
      const code = codes.next();
      values.push(code === 0 ? NaN : codes.plain(code, 1));
      if (values.length % kRowsAStep === 0) yield;
    }
    if (row !== this.head.rows) throw new PageError(this.part, "has runs of fewer rows than the table");
    return [values, starts.slice(0, values.length)];
  }

  private *every(it: ColumnHead, codes: Codes, values: Growing): Generator<void, void> {
    const step = this.step(it.name, it.coding, codes, values);
    for (let from = 0; from < this.head.rows; from += kRowsAStep) {
      const to = Math.min(this.head.rows, from + kRowsAStep);
      for (let row = from; row < to; ++row) step(row, codes.next());
      yield;
    }
  }

  // What one code of a row becomes.
  private step(name: string, coding: Coding, codes: Codes, values: Growing): (row: number, code: number) => void {
    let last = 0;
    const put = (row: number, value: number) => {
      last = value;
      values.set(row, value);
    };
    switch (coding) {
      case "plain":
        return (row, code) => code !== 0 && values.set(row, codes.plain(code, 1));
      case "delta":
        return (row, code) => code !== 0 && put(row, codes.difference(last, 0, code, 1));
      case "back": {
        const ticket = this.near("ticket", name);
        return (row, code) => code !== 0 && values.set(row, ticket.number(row) - codes.plain(code, 1));
      }
      case "device":
      case "moved":
      case "freed": {
        const device = this.near("device", name);
        const moves = coding === "device" ? () => 0 : this.moves(name, coding === "moved" ? 1 : -1);
        const lasts = new Map<number, number>();
        return (row, code) => {
          if (code === 0) return;
          const of = device.number(row); // NaN is a key of its own
          const value = codes.difference(lasts.get(of) ?? 0, moves(row), code, 1);
          lasts.set(of, value);
          values.set(row, value);
        };
      }
      case "based": {
        const [segment, offset] = [this.near("segment", name), this.near("offset_bytes", name)];
        const lasts = new Map<number, [value: number, offset: number]>();
        return (row, code) => {
          if (code === 0) return;
          const of = segment.number(row);
          const [before, beforeInside] = lasts.get(of) ?? [0, 0];
          const inside = offset.number(row) || 0;
          const value = codes.difference(before, inside - beforeInside, code, 1);
          lasts.set(of, [value, inside]);
          values.set(row, value);
        };
      }
      case "born": {
        const births = (this.births ??= new Births(this.near("ticket", name), this.near("allocation", name), this.head.rows));
        return (row, code) => {
          if (code === 0) return;
          const born = births.row(row);
          const value = born === kNone ? NaN : values.get(born);
          put(row, codes.difference(Number.isNaN(value) ? last : value, 0, code, 1));
        };
      }
      default:
        throw new PageError(`${this.part}.${name}`, "is in a coding that this page does not know");
    }
  }

  private moves(name: string, times: 1 | -1): (row: number) => number {
    const [kind, size] = [this.near("kind", name), this.near("size_bytes", name)];
    const words = (this.events?.words ?? this.head.words).kind;
    const signs = Int8Array.from(words, (word) => (word === "block_alloc" || word === "initial" ? times : word === "block_free" ? -times : 0));
    return (row) => {
      const sign = signs[kind.number(row)];
      if (sign !== 1 && sign !== -1) return 0;
      const bytes = size.number(row);
      return Number.isNaN(bytes) ? 0 : sign * bytes;
    };
  }
}

function checkWords(part: string, values: Growing, count: number): void {
  for (let index = 0; index < values.length; ++index) {
    const value = values.get(index);
    if (!Number.isNaN(value) && !(value >= 0 && value < count)) throw new PageError(part, "has a number that stands for no word");
  }
}

class DecodedTable implements Table {
  constructor(
    private readonly part: string,
    readonly rows: number,
    readonly words: Record<Word, string[]>,
    private readonly columns: ReadonlyMap<string, Column>,
  ) {}

  get names(): readonly string[] {
    return [...this.columns.keys()];
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  column(name: string): Column {
    const column = this.columns.get(name);
    if (column === undefined) throw new PageError(this.part, `has no column ${name}`);
    return column;
  }
}

// The types that columns must have, where they are there at all.
export type Expected = Readonly<Record<string, ColumnType>>;

// `events`: whose rows the table is about, where it is not about its own.
export async function decodeTable(part: string, bytes: Uint8Array, events: Table | null, needed: Expected): Promise<Table> {
  const slices = new Slices();
  const head = readTableHead(part, bytes);
  const decoder = new Decoder(part, head, events);
  for (const [name, type] of Object.entries(needed)) {
    const found = head.columns.find((it) => it.name === name);
    if (found === undefined) throw new PageError(part, `has no column ${name}`);
    if (found.type !== type) throw new PageError(part, `has ${name} as another sort of number`);
  }
  for (const it of head.columns) {
    const steps = decoder.column(it);
    let step = steps.next();
    while (step.done !== true) {
      if (slices.spent) await slices.breathe();
      step = steps.next();
    }
    decoder.columns.set(it.name, step.value);
    if (slices.spent) await slices.breathe();
  }
  return new DecodedTable(part, head.rows, head.words, decoder.columns);
}
