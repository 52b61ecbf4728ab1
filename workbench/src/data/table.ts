// SPDX-License-Identifier: Apache-2.0
//
// A table of docs/page.md, decoded into typed arrays. The rule: a number that a double cannot hold exactly is never shown as if it could.

export type Word = "kind" | "op" | "object";
export type ColumnType = "number" | "flag" | Word;

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  // NaN where empty, and where `large` has the value. Words are indices into the table's words.
  readonly values: Float64Array | Int32Array | Uint8Array;
  at(row: number): number | null; // null: empty, or too large for a number
  text(row: number): string; // as the ledger's CSV writes it; "" where empty
}

export interface Table {
  readonly rows: number;
  readonly words: Record<Word, string[]>;
  has(name: string): boolean;
  column(name: string): Column; // throws for a name the table does not have
}
