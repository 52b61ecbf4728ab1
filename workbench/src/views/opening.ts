// SPDX-License-Identifier: Apache-2.0
//
// Opens what the page shows: the parts of this document, another page, a receipt, the lesson. The rule: one opening at a time, the last one
// asked for wins; what cannot be read leaves what is open as it is, except at the start.
import { comparisonOf, type Comparison } from "../data/comparison";
import { PageError } from "../data/error";
import type { Incident } from "../data/incident";
import { openIncident, type Opening } from "../data/open";
import { partsOfDocument, unpack, type Packed, type PackedPage } from "../data/parts";
import { kNoEvents, receiptIncident } from "../data/receipt_incident";
import { buildHistory } from "../history/build";
import type { History } from "../history/history";
import { batch } from "@preact/signals";
import {
  comparison,
  device,
  forgetIncident,
  instant,
  life,
  opened,
  other,
  playing,
  problem,
  receiptOnly,
  reference,
  session,
  site,
  span,
  view,
} from "../session";

const kMostComparison_bytes = 1 << 24;

let asked = 0; // the last one that was asked for
let stands = 0; // changes when another one is shown: what comes late for the one before is dropped

export function problemText(error: unknown): string {
  if (error instanceof PageError) return `${error.message}. Way out: ${error.wayOut}.`;
  return (
    "The page met something that it was not made for; this is a fault of the page. Way out: make the page again, or read " +
    "the recording with memsnap-replay in a terminal."
  );
}

function atOnce(opening: Opening): Incident {
  const { outline, receipt, receiptText, names, levels } = opening;
  return { outline, receipt, receiptText, names, levels, begin: kNoEvents, events: kNoEvents, derived: async () => kNoEvents };
}

// What was looked at belongs to what was open.
function show(incident: Incident): void {
  stands += 1;
  batch(() => {
    opened.value = incident;
    session.value = null;
    problem.value = null;
    receiptOnly.value = false;
    device.value = incident.receipt.evidence.failure?.device ?? incident.outline.devices[0] ?? 0;
    instant.value = -1;
    reference.value = null;
    span.value = null;
    site.value = null;
    life.value = null;
    playing.value = false;
    forgetIncident();
  });
}

export function begin(incident: Incident, history: History): void {
  batch(() => {
    opened.value = incident;
    session.value = { incident, history };
    instant.value = history.failureRow ?? Math.max(-1, history.rows - 1);
  });
}

// The verdict stands already: what is wrong with the events is said beside it.
async function follow(opening: Opening): Promise<void> {
  const mine = stands;
  try {
    const incident = await opening.rest();
    const history = await buildHistory(incident);
    if (mine === stands) begin(incident, history);
  } catch (error) {
    if (mine === stands) problem.value = problemText(error);
  }
}

async function comparisonIn(page: PackedPage): Promise<Comparison | null> {
  if (page.diff === null) return null;
  return comparisonOf(new TextDecoder().decode(await unpack("diff", page.diff, kMostComparison_bytes)));
}

interface OpenedSide {
  incident: Incident; // what can be shown at once
  opening: Opening | null; // null: a receipt alone
}

// A side of a comparison may be a receipt alone.
async function openSide(parts: Packed): Promise<OpenedSide> {
  const receipt = parts.get("receipt");
  if (parts.size === 1 && receipt !== undefined) {
    return { incident: receiptIncident(new TextDecoder().decode(await unpack("receipt", receipt))).incident, opening: null };
  }
  const opening = await openIncident(parts);
  // The lesson is in the program, never in a file: a recording that calls itself made up would be taken for an exercise.
  if (opening.outline.synthetic) throw new PageError("outline", "calls the incident made up, which that of a file never is");
  return { incident: atOnce(opening), opening };
}

// The first side is what the views show; the second one stands beside it in `compare`. The events follow.
export async function openPage(page: PackedPage): Promise<void> {
  const turn = ++asked;
  const first = await openSide(page.before);
  const second = page.after === null ? null : await openSide(page.after);
  const told = await comparisonIn(page);
  if (turn !== asked) return;
  batch(() => {
    show(first.incident);
    receiptOnly.value = first.opening === null;
    other.value = second?.incident ?? null;
    comparison.value = told;
    view.value = told === null && second === null ? "verdict" : "compare";
  });
  if (first.opening !== null) void follow(first.opening);
}

export function openReceipt(text: string): void {
  const { incident } = receiptIncident(text);
  ++asked;
  batch(() => {
    show(incident);
    other.value = null;
    comparison.value = null;
    receiptOnly.value = true;
    view.value = "verdict";
  });
}

// Without a history: an incident of the page's own, such as the lesson.
export async function openMade(incident: Incident): Promise<void> {
  const turn = ++asked;
  const history = await buildHistory(incident);
  if (turn !== asked) return;
  batch(() => {
    show(incident);
    other.value = null;
    comparison.value = null;
    begin(incident, history);
  });
}

// Beside what is open. The history of it is never built: a comparison needs the verdict, its evidence and the levels.
export async function openBeside(parts: Packed): Promise<void> {
  const { incident } = await openSide(parts);
  batch(() => {
    other.value = incident;
    comparison.value = null;
    view.value = "compare";
  });
}

export function openReceiptBeside(text: string): void {
  const { incident } = receiptIncident(text);
  batch(() => {
    other.value = incident;
    comparison.value = null;
    view.value = "compare";
  });
}

export function openComparison(text: string): void {
  const told = comparisonOf(text);
  batch(() => {
    comparison.value = told;
    view.value = "compare";
  });
}

// At the start: what this document holds, or the offer to open something or to learn.
export async function openDocument(): Promise<void> {
  try {
    const page = partsOfDocument(document);
    if (page === null) view.value = "lesson";
    else await openPage(page);
  } catch (error) {
    problem.value = problemText(error);
  }
}
