// SPDX-License-Identifier: Apache-2.0
//
// A column of a table as it is kept: one value a row in an array of fitting width, only the rows that have one, or runs of equal ones. The
// rule: asking in row order costs nothing whichever it is; an empty cell is no number, and one too large for a double is text only.

export type Word = "kind" | "op" | "object" | "state" | "category" | "segment_kind";
export type ColumnType = "number" | "flag" | Word;
export type Values = Float64Array | Int32Array | Uint8Array;

// `runs`: each run's first row; `rows`: the rows that have a value.
export type Layout = "every" | "rows" | "runs";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  number(row: number): number; // NaN: empty, or too large for a number. Words are indices into the table's words
  at(row: number): number | null; // the same, null for NaN
  filled(row: number): boolean;
  text(row: number): string; // as the ledger's CSV writes it; "" where empty
}

export class StoredColumn implements Column {
  private cursor = 0;

  constructor(
    readonly name: string,
    readonly type: ColumnType,
    private readonly layout: Layout,
    private readonly values: Values,
    private readonly starts: Int32Array, // empty with `every`
    private readonly empty: number, // the value that stands for an empty cell; NaN of doubles
    private readonly large: ReadonlyMap<number, string>,
    private readonly words: readonly string[] | null,
  ) {}

  number(row: number): number {
    let index = row;
    if (this.layout !== "every") {
      index = this.find(row);
      if (index < 0) return NaN;
    }
    const value = this.values[index];
    return value === this.empty ? NaN : value;
  }

  at(row: number): number | null {
    const value = this.number(row);
    return Number.isNaN(value) ? null : value;
  }

  filled(row: number): boolean {
    return !Number.isNaN(this.number(row)) || this.large.has(row);
  }

  text(row: number): string {
    const value = this.number(row);
    if (Number.isNaN(value)) return this.large.get(row) ?? "";
    return this.words === null ? String(value) : this.words[value];
  }

  // Of the run, or of the row itself; −1: none.
  private find(row: number): number {
    const starts = this.starts;
    let at = this.cursor;
    const near = (index: number) => starts[index] <= row && (index + 1 === starts.length || row < starts[index + 1]);
    if (at >= starts.length || !near(at)) {
      at += 1;
      if (at >= starts.length || !near(at)) {
        let low = 0;
        let high = starts.length;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (starts[middle] <= row) low = middle + 1;
          else high = middle;
        }
        at = low - 1;
        if (at < 0) return -1;
      }
      this.cursor = at;
    }
    return this.layout === "runs" || starts[at] === row ? at : -1;
  }
}
