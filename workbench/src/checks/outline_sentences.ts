// SPDX-License-Identifier: Apache-2.0
//
// The terminal's first sentences, of a receipt (replay/report_headline.h): what happened, and the cause. The rule: they say what the receipt's
// verdict says, whether that is right or not; what a receipt does not hold (who a library is) is left open.
import type { Count, Receipt } from "../data/receipt";
import { amountText, big, counted, sizeText } from "../parts/units";

export interface Listed {
  ticket: Count;
  device: number;
  request_bytes: Count;
  followed: boolean;
}

export const listedFailures = (receipt: Receipt): Listed[] => (receipt.evidence.failures ?? []) as Listed[];
const lostCount = (receipt: Receipt) => big((receipt.evidence.lost_failure_count ?? 0) as Count);

export function titleOf(receipt: Receipt): string {
  if (receipt.evidence.failure !== null) return "OUT OF MEMORY";
  if (lostCount(receipt) !== 0n) return "FAILURE LOST";
  const listed = listedFailures(receipt);
  return listed.length > 0 && listed.every(({ device }) => device < 0) ? "FAILURE NOT PLACED" : "NO FAILURE";
}

// Without an incident in evidence.
function eventWithoutFailure(receipt: Receipt): string {
  const lost = lostCount(receipt);
  if (lost !== 0n) return `the recorder counted ${counted(lost, "failure")}, but none can be read any more`;
  const listed = listedFailures(receipt);
  if (listed.length === 0) return "nothing ran out of memory in this recording";
  const placed = listed.find(({ device }) => device >= 0);
  if (placed === undefined) return "something ran out of memory, and no record tells on which device";
  return `on this device; cuda:${placed.device} ran out of memory (--device ${placed.device})`;
}

export interface EventSentence {
  before: string; // who asked stands between the two
  who: string | null; // null: a library, whose name is in no receipt
  after: string;
}

export function eventOf(receipt: Receipt): EventSentence {
  const { failure } = receipt.evidence;
  if (failure === null) return { before: eventWithoutFailure(receipt), who: "", after: "" };
  const listed = listedFailures(receipt);
  const own = listed.find(({ ticket }) => String(ticket) === String(failure.ticket));
  const allocator = receipt.environment.allocator as { expandable_segments: boolean };
  const asked = sizeText(String(own?.request_bytes ?? failure.request_bytes ?? failure.segment_request_bytes));
  let after = ` asked for ${asked}`;
  if (failure.allocator === "pytorch" && !allocator.expandable_segments && failure.segment_request_bytes !== null) {
    const segment = sizeText(String(failure.segment_request_bytes));
    if (segment !== asked) after += `, in a segment of ${segment}`;
  }
  if (listed.length > 1) after += ` (one of ${listed.length} failures)`;
  if (own?.followed === true) after += "; the job went on";
  const steps = big(failure.steps_ended_count);
  return { before: steps === 0n ? "" : `in step ${steps + 1n}: `, who: failure.allocator === "foreign" ? null : "PyTorch", after };
}

const kAnswers: readonly (readonly [string, string])[] = [
  ["deferred_free", "a fitting hole was freed only while the request was failing"],
  ["fit_ignored", "a fitting hole was there and was not used"],
  ["driver_refused", "the driver refused although the device had room"],
  ["cache_hoarding", "PyTorch's cache held what the library needed"],
  ["cache_pinned", "PyTorch's cache held what the library needed and could not give it back"],
];
const kOpen: readonly (readonly [string, string])[] = [
  ["corrupt_size", "undecided: the request's size is corrupt"],
  ["inconsistent_numbers", "undecided: the numbers contradict each other"],
  ["fit_unexplained", "undecided: a hole that may fit was not used"],
  ["births_unknown", "undecided: when part of what is live was allocated is not known"],
];

export function causeOf(receipt: Receipt): string | null {
  const { verdict, evidence } = receipt;
  const { ledgers, growth } = evidence;
  if (evidence.failure === null || ledgers === null) return null;
  const said = (list: typeof kAnswers) => list.find(([qualifier]) => verdict.qualifiers.includes(qualifier))?.[1];
  if (verdict.primary === null) {
    if (verdict.exit_status === 10) return said(kAnswers) ?? null;
    return said(kOpen) ?? (ledgers.total_bytes === null ? "undecided: the card's size is unknown" : "undecided: the evidence does not suffice");
  }
  if (verdict.numbers === null) return null;
  const n = (name: string) => big(verdict.numbers![`${name}_bytes`] ?? 0);
  const text = (bytes: bigint) => amountText(bytes);
  const active = big(ledgers.active_bytes ?? 0);
  const step = growth?.family === "module" ? "call" : "step";
  const foreign = evidence.failure.allocator === "foreign";
  switch (verdict.primary) {
    case "live_set": {
      const asked = foreign ? n("need") : n("need") - active;
      const cause = `live-set pressure: ${text(active)} in use and ${text(asked)} more asked, ${text(n("available"))} available`;
      if (verdict.hypotheses?.retention.status !== "undecidable" || n("retained_upper") < n("deficit")) return cause;
      return `${cause}, unless up to ${text(n("retained_upper"))} of it outlived an earlier ${step}: retention is not excluded`;
    }
    case "retention":
      return `retention: ${text(n("retained"))} of earlier ${step}s were still live, ${text(n("deficit"))} were lacking`;
    case "fragmentation": {
      const hole = sizeText(String(ledgers.largest_free_extent_bytes ?? 0));
      return `fragmentation: ${text(n("available") - active)} were free, the largest usable hole was ${hole}`;
    }
    case "external":
      return `external pressure: ${text(n("removable_outside"))} held outside PyTorch, ${text(n("deficit"))} were lacking`;
  }
}
