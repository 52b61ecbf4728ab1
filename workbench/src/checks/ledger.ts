// SPDX-License-Identifier: Apache-2.0
//
// Each derived column of the ledger against the page's own history, row by row. The rule: what the history says it cannot know of this window is
// not compared, and its reason is told.
import type { Table } from "../data/table";
import { agrees, differs, notRecomputed, type Check, type Result, type Subject } from "./check";

const kColumns: readonly (readonly [string, string])[] = [
  ["active_bytes", "live and deferred blocks"],
  ["deferred_bytes", "blocks that were freed and are still waited for"],
  ["segment_bytes", "settled segments of PyTorch's allocator"],
  ["free_bytes", "free bytes inside segments"],
  ["outside_bytes", "bytes outside PyTorch's allocator, as the device answered"],
  ["held_bytes", "held by PyTorch's allocator"],
  ["own_outside_bytes", "held by other libraries of this process"],
  ["other_processes_bytes", "held by other processes"],
  ["unattributed_bytes", "what nobody accounts for"],
  ["expected_free_bytes", "free bytes to be expected if nothing unseen happened"],
  ["parameter_bytes", "blocks told to be parameters"],
  ["gradient_bytes", "blocks told to be gradients"],
  ["optimizer_state_bytes", "blocks told to be optimizer state"],
  ["buffer_bytes", "blocks told to be buffers"],
  ["input_bytes", "blocks told to be inputs"],
  ["activation_bytes", "blocks told to be activations"],
];

async function columnResult(name: string, derived: Table, subject: Subject): Promise<Result> {
  const limit = subject.history.limits.find((one) => one.column === name);
  if (limit !== undefined) return notRecomputed(limit.why);
  const { rows } = subject;
  const column = derived.column(name);
  const own = subject.history.ledger(name);
  let filled = 0;
  for (let row = 0; row < rows.count; ++row) {
    if ((row & 4095) === 0) await subject.pace.breathe();
    const told = column.number(row);
    if (own[row] === told) {
      ++filled;
      continue;
    }
    if (Number.isNaN(own[row]) && !column.filled(row)) continue;
    return differs(name, Number.isNaN(own[row]) ? null : own[row], column.filled(row) ? column.text(row) : null, rows.at(row));
  }
  return filled === 0 ? notRecomputed("no event of the page tells it") : agrees(filled);
}

export async function ledgerChecks(subject: Subject): Promise<Check[]> {
  const derived = await subject.incident.derived();
  const checks: Check[] = [];
  for (const [name, title] of kColumns) {
    const result = await columnResult(name, derived, subject);
    checks.push({ id: `ledger.${name}`, group: "ledger", title: `${name}: ${title}, after each event`, from: "the page's history", result });
  }
  return checks;
}
