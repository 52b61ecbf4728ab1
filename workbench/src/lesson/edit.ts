// SPDX-License-Identifier: Apache-2.0
//
// Changed copies of what was read. The rule: nothing that was read is touched; a changed table looks its cells up in the one it was made of.
import { causeOf } from "../checks/outline_sentences";
import type { Column, Table } from "../data/table";
import type { Incident } from "../data/incident";
import type { Receipt } from "../data/receipt";
import { canonicalText, receiptDigests } from "../data/receipt_digest";

class PickedColumn implements Column {
  constructor(
    private readonly of: Column,
    private readonly rows: readonly number[], // of the table it was made of
  ) {}
  get name() {
    return this.of.name;
  }
  get type() {
    return this.of.type;
  }
  number(row: number): number {
    return this.of.number(this.rows[row]);
  }
  at(row: number): number | null {
    return this.of.at(this.rows[row]);
  }
  filled(row: number): boolean {
    return this.of.filled(this.rows[row]);
  }
  text(row: number): string {
    return this.of.text(this.rows[row]);
  }
}

class ChangedColumn implements Column {
  constructor(
    private readonly of: Column,
    private readonly row: number,
    private readonly value: number,
  ) {}
  get name() {
    return this.of.name;
  }
  get type() {
    return this.of.type;
  }
  number(row: number): number {
    return row === this.row ? this.value : this.of.number(row);
  }
  at(row: number): number | null {
    return row === this.row ? this.value : this.of.at(row);
  }
  filled(row: number): boolean {
    return row === this.row || this.of.filled(row);
  }
  text(row: number): string {
    return row === this.row ? String(this.value) : this.of.text(row);
  }
}

function tableOf(table: Table, rows: number, change: (column: Column) => Column): Table {
  const columns = new Map<string, Column>();
  return {
    rows,
    words: table.words,
    names: table.names,
    has: (name) => table.has(name),
    column(name) {
      let column = columns.get(name);
      if (column === undefined) columns.set(name, (column = change(table.column(name))));
      return column;
    },
  };
}

// Without the rows of `events` that `drop` names; `derived` loses the same, and the outline does not count them.
export function withoutRows(incident: Incident, drop: (row: number) => boolean): Incident {
  const { events, outline } = incident;
  const rows = Array.from({ length: events.rows }, (_, row) => row).filter((row) => !drop(row));
  const dropped = events.rows - rows.length;
  const { event_count, exact_event_count } = outline.window;
  const picked = (table: Table) => tableOf(table, rows.length, (column) => new PickedColumn(column, rows));
  return {
    ...incident,
    outline: { ...outline, window: { ...outline.window, event_count: event_count - dropped, exact_event_count: exact_event_count - dropped } },
    events: picked(events),
    derived: async () => picked(await incident.derived()),
  };
}

// With another number in one cell of `events`.
export function withCell(incident: Incident, column: string, row: number, value: number): Incident {
  const changed = (it: Column) => (it.name === column ? new ChangedColumn(it, row, value) : it);
  return { ...incident, events: tableOf(incident.events, incident.events.rows, changed) };
}

// `stamped`: whoever changed it made the digests anew too. The sentence of the cause says what it says now.
export function withReceipt(incident: Incident, change: (receipt: Receipt) => void, stamped: boolean): Incident {
  const receipt = structuredClone(incident.receipt);
  change(receipt);
  if (stamped) receipt.digest = { ...receipt.digest, ...receiptDigests(receipt) };
  const { outline } = incident;
  const headline = { ...outline.headline, cause: causeOf(receipt) };
  return { ...incident, outline: { ...outline, headline }, receipt, receiptText: canonicalText(receipt) };
}
