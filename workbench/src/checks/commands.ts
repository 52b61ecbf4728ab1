// SPDX-License-Identifier: Apache-2.0
//
// Command lines about the open incident that are made to be copied. The rule: as they stand they ask about this incident and no other; nothing
// that chose it is dropped, and what the next program does not read is made first.
import type { Incident } from "../data/incident";
import type { Receipt } from "../data/receipt";
import { isReceiptAlone } from "../data/receipt_incident";
import { quoted } from "../data/shell";
import { receiptName } from "./file_names";

const kCard = "--card";
// Fixes that switch a setting which `memsnap-replay diff` compares (docs/diff.md), and its name there.
const kChangedBy: readonly (readonly [string, string])[] = [["expandable_segments:True", "allocator.expandable_segments"]];

// The words that chose the incident, apart from the card's size; options are words of memsnap's own.
function chosenBy(incident: Incident): string[] {
  const { command } = incident.outline;
  const words = command.filter((word, at) => word !== kCard && command[at - 1] !== kCard);
  return words.map((word) => (/^--[a-z-]+$/.test(word) ? word : quoted(word)));
}

// Whether the page was made from what PyTorch's tools wrote, and not from a ring.
function isOfImport({ receipt, outline }: Incident): boolean {
  const references = (receipt.references ?? []) as { kind: string }[];
  return references.some(({ kind }) => kind === receipt.capture.origin) && !(outline.file ?? "").endsWith(".bin");
}

// What a person stated of the card stands in the ring of an import, and in no snapshot.
function statedCard(incident: Incident): string[] {
  const { capture, evidence } = incident.receipt;
  if (!isOfImport(incident) || capture.total_stated !== true) return [];
  const total = evidence.ledgers?.total_bytes ?? evidence.holders.find((one) => one.total_bytes !== null)?.total_bytes ?? null;
  return total === null ? [] : [kCard, String(total)];
}

interface Ring {
  made: string[]; // what is to run before it is there
  name: string; // as a word of the command line
}

function ringOf(incident: Incident, unknown: string): Ring {
  const { file } = incident.outline;
  if (!isOfImport(incident)) return { made: [], name: file === null ? unknown : quoted(file) };
  const name = file === null ? `${unknown}.bin` : quoted(`${file.replace(/\.[^./]+$/, "")}.bin`);
  return { made: [["memsnap-replay", "import", file === null ? "FILE" : quoted(file), name, ...statedCard(incident)].join(" ")], name };
}

const inTurn = (...commands: string[]) => commands.join(" && ");

export function ledgerCommand(incident: Incident): string {
  const file = incident.outline.file === null ? "RING" : quoted(incident.outline.file);
  return ["memsnap-replay", file, ...chosenBy(incident), ...statedCard(incident), "--csv", "ledger.csv"].join(" ");
}

// On the receipt that the page exports.
export function oracleCommand(incident: Incident): string {
  const ring = ringOf(incident, "RING");
  return inTurn(...ring.made, ["memsnap-oracle", ...chosenBy(incident), "--receipt", receiptName(incident), ring.name].join(" "));
}

// Of what a fix changes by itself, the fields that make two runs incomparable unless they are declared.
export function changedFields(receipt: Receipt): string[] {
  const { fix } = receipt.verdict;
  return kChangedBy.filter(([words]) => fix !== null && fix.startsWith(words)).map(([, field]) => field);
}

// `diff` chooses the incident of a recording by itself; of one that was chosen the receipt that the page exports stands for it.
export const isChosen = (incident: Incident) => chosenBy(incident).length > 0;

// `after` null: the run that is still to be recorded.
export function diffCommand(before: Incident, after: Incident | null, options: string[] = []): string {
  const side = (incident: Incident, unknown: string): Ring => {
    if (isReceiptAlone(incident)) return { made: [], name: unknown };
    if (isChosen(incident)) return { made: [], name: receiptName(incident) };
    if (statedCard(incident).length > 0) return ringOf(incident, unknown);
    return { made: [], name: incident.outline.file === null ? unknown : quoted(incident.outline.file) };
  };
  const [first, second] = [side(before, "BEFORE"), after === null ? { made: [], name: "AFTER.bin" } : side(after, "AFTER")];
  const changed = changedFields(before.receipt).flatMap((field) => ["--changed", field]);
  return inTurn(...first.made, ...second.made, ["memsnap-replay", "diff", first.name, second.name, ...changed, ...options].join(" "));
}
