// SPDX-License-Identifier: Apache-2.0
//
// The step that an event lies in, counted from 1 as everywhere on the page. The rule: the ledger's `step` tells how many have ended, the event
// included; where none ended it is not known whether any was marked, so there is no number.
import type { Table } from "../data/table";

export const kStepsEnded = "steps_ended"; // of a query: the ledger's own number

export function stepNumbers(events: Table): (row: number) => number | null {
  const ended = events.column("step");
  const ends = events.words.kind.indexOf("step");
  const kind = events.column("kind");
  const last = events.rows === 0 ? null : ended.at(events.rows - 1);
  if (last === null || last === 0) return () => null;
  return (row) => {
    const value = ended.at(row);
    if (value === null) return null;
    return kind.at(row) === ends ? value : value + 1;
  };
}
