// SPDX-License-Identifier: Apache-2.0
//
// What lies beside the card: managed, pinned and graph memory that is live at an instant (docs/receipt.md, `holders`). The rule: none of it is
// part of the sum that the card is split into.
import type { Balance } from "../data/receipt";
import { Comparison, notRecomputed, type Check, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { LiveObjects, objectRows } from "./objects";

const kMembers = { managed: "managed_bytes", host: "pinned_bytes", graph_node: "graph_bytes" } as const;
type Kind = keyof typeof kMembers;

async function besideResult(subject: Subject, told: Balance & Record<string, unknown>, index: number, row: number): Promise<Result> {
  const sums: Record<Kind, number> = { managed: 0, host: 0, graph_node: 0 };
  const objects = new LiveObjects(subject.incident, new Set(Object.keys(kMembers)));
  let looked = 0;
  for (const at of objectRows(subject.rows)) {
    if (at > row) break;
    if ((++looked & 4095) === 0) await subject.pace.breathe();
    objects.step(subject.rows, at);
  }
  for (const { kind, device, size } of objects.live.values()) {
    if (kind === "host" || device === told.device) sums[kind as Kind] += size; // pinned memory is the process's
  }
  const compared = new Comparison();
  for (const kind of Object.keys(kMembers) as Kind[]) compared.same(`evidence.holders[${index}].${kMembers[kind]}`, sums[kind], told[kMembers[kind]]);
  return compared.result();
}

export async function besideChecks(subject: Subject, failing: Failing | null): Promise<Check[]> {
  const { receipt, outline } = subject.incident;
  const { history } = subject;
  const checks: Check[] = [];
  for (const [index, told] of receipt.evidence.holders.entries()) {
    const inPage = Number(told.ticket) >= outline.window.exact_first_ticket && (receipt.evidence.failure === null || failing !== null);
    const isFailing = failing !== null && String(failing.ticket) === String(told.ticket);
    const peak = told.instant === "peak" ? history.peakRow(told.device) : null;
    const row = isFailing ? failing.row : (peak ?? history.rowOf(Number(told.ticket)));
    checks.push({
      id: `balance.beside.${told.device}.${told.instant}`,
      group: "balance",
      title: `managed, pinned and graph memory beside device ${told.device} at the ${told.instant}`,
      from: "begin and events",
      result: inPage
        ? await besideResult(subject, told as Balance & Record<string, unknown>, index, row)
        : notRecomputed("its instant is not in the page"),
    });
  }
  const imported = "one import may be opened many times, and which are the same is not in the page";
  return [...checks, { id: "balance.imported", group: "balance", title: "imported memory", from: "", result: notRecomputed(imported) }];
}
