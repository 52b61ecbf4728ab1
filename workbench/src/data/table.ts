// SPDX-License-Identifier: Apache-2.0
//
// A table of docs/page.md. The rule: a number that a double cannot hold exactly is never shown as if it could.
import type { Column, Word } from "./column";

export type { Column, ColumnType, Word } from "./column";

export interface Table {
  readonly rows: number;
  readonly words: Readonly<Record<Word, readonly string[]>>;
  readonly names: readonly string[]; // of the columns, in their order
  has(name: string): boolean;
  column(name: string): Column; // throws for a name the table does not have
}
