// SPDX-License-Identifier: Apache-2.0
//
// The ledger as `memsnap-replay --csv` writes it (docs/ledger.md), from the tables of the page. The rule: the same bytes, or none: a page that
// holds a part of the events gives the command instead.
import type { Incident } from "./incident";
import type { Table } from "./table";

export const ledgerColumns: readonly string[] = (
  "ticket kind op device thread library object allocation segment offset_bytes size_bytes value dimension site phase step " +
  "code nested capturing from_torch cause allocated_bytes reserved_bytes device_total_bytes device_free_bytes others_bytes " +
  "active_bytes deferred_bytes segment_bytes free_bytes outside_bytes held_bytes own_outside_bytes other_processes_bytes " +
  "unattributed_bytes expected_free_bytes parameter_bytes gradient_bytes optimizer_state_bytes buffer_bytes input_bytes " +
  "activation_bytes"
).split(" ");
const kFlags: Record<string, number> = { nested: 1, capturing: 2, from_torch: 4 };
const kRowsInAPiece_count = 8192;

// A keyframe is another window than the one that the ledger is of.
export function holdsEveryEvent(incident: Incident): boolean {
  const { window } = incident.outline;
  return !window.keyframe && window.exact_event_count === window.event_count && incident.events.rows === window.event_count;
}

function cellOf(name: string, events: Table, derived: Table): (row: number) => string {
  const flag = kFlags[name];
  if (flag !== undefined) {
    const flags = events.column("flags");
    return (row) => (((flags.at(row) ?? 0) & flag) === 0 ? "0" : "1");
  }
  const column = (events.has(name) ? events : derived).column(name);
  return (row) => column.text(row);
}

// In pieces, so that a million rows are never one text. The first piece is the header.
export function* ledgerPieces(incident: Incident, derived: Table): Generator<string> {
  if (!holdsEveryEvent(incident)) throw new Error("the page holds a part of the events one by one");
  const cells = ledgerColumns.map((name) => cellOf(name, incident.events, derived));
  yield `${ledgerColumns.join(",")}\n`;
  for (let first = 0; first < incident.events.rows; first += kRowsInAPiece_count) {
    const lines: string[] = [];
    const end = Math.min(incident.events.rows, first + kRowsInAPiece_count);
    for (let row = first; row < end; ++row) lines.push(cells.map((cell) => cell(row)).join(","));
    yield `${lines.join("\n")}\n`;
  }
}
