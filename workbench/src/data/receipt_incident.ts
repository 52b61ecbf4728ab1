// SPDX-License-Identifier: Apache-2.0
//
// A receipt alone as an incident without events. The rule: its tables are empty, and whoever shows it says so; nothing is made up in their place.
import type { Column } from "./column";
import { sizeText } from "../parts/units";
import { kHypotheses } from "../parts/words";
import { PageError } from "./error";
import type { Incident, Names } from "./incident";
import type { Count, Receipt } from "./receipt";
import { faultOfReceipt } from "./receipt_check";
import { canonicalText } from "./receipt_digest";
import type { Table } from "./table";

export const kNoEvents: Table = {
  rows: 0,
  words: { kind: [], op: [], object: [], state: [], category: [], segment_kind: [] },
  names: [],
  has: () => false,
  column: (name: string): Column => {
    throw new Error(`there are no events here, and no column ${name}`);
  },
};

// Of a receipt alone nothing was told beside the receipt.
export function isReceiptAlone(incident: Incident): boolean {
  return incident.levels === kNoEvents;
}

type Entry = Record<string, unknown>;

function namesOf(receipt: Receipt): Names {
  const list = (name: string) => (receipt.dictionary[name] ?? []) as Entry[];
  const roles = new Map(((receipt.evidence.libraries ?? []) as Entry[]).map((entry) => [entry.library, String(entry.role)]));
  return {
    sites: list("sites").map((entry) => ({ site: Number(entry.site), token: String(entry.token) })),
    frames: [],
    phases: list("phases").map((entry) => ({ phase: Number(entry.phase), token: String(entry.token), word: (entry.word ?? null) as string | null })),
    libraries: list("libraries").map((entry) => ({
      library: Number(entry.library),
      token: String(entry.token),
      role: roles.get(entry.library) ?? "unknown",
    })),
    dimensions: list("dimensions").map((entry) => ({ dimension: Number(entry.dimension), token: String(entry.token) })),
  };
}

function devicesOf(receipt: Receipt): number[] {
  const { failure, holders } = receipt.evidence;
  const all = failure === null ? holders.map((balance) => balance.device) : [failure.device];
  return [...new Set(all)].sort((a, b) => a - b);
}

// As the terminal has it, as far as a receipt tells.
function eventOf(receipt: Receipt): string | null {
  const { failure } = receipt.evidence;
  if (failure === null) return null;
  const asked = sizeText(failure.request_bytes ?? failure.segment_request_bytes);
  return failure.allocator === "foreign" ? `another library asked the device for ${asked}` : `PyTorch asked for ${asked}`;
}

function causeOf(receipt: Receipt): string | null {
  const { primary, hypotheses, exit_status } = receipt.verdict;
  if (receipt.evidence.failure === null) return null;
  if (primary !== null) return kHypotheses[primary].title;
  return exit_status === 10 && hypotheses !== null ? "answered by a qualifier" : "undecided";
}

function titleOf(receipt: Receipt): string {
  if (receipt.evidence.failure !== null) return "OUT OF MEMORY";
  if (receipt.evidence.lost_failure_count !== 0) return "FAILURE LOST";
  return receipt.verdict.exit_status === 0 ? "NO FAILURE" : "FAILURE NOT PLACED";
}

export interface ReadReceipt {
  incident: Incident;
  faults: string[]; // what is wrong with it and does not keep it from being shown
}

// Throws what keeps it from being read.
export function receiptIncident(text: string): ReadReceipt {
  const faults: string[] = [];
  const refuse = (why: string): never => {
    throw new PageError("receipt", why, "make it again: memsnap-replay RING --json FILE");
  };
  let fault = faultOfReceipt(text);
  if (fault === "the text is no JSON") refuse(fault);
  if (fault === "the text is not canonical") {
    faults.push("The text is not canonical: somebody wrote it anew, and memsnap-oracle refuses it.");
    fault = faultOfReceipt(canonicalText(JSON.parse(text)));
  }
  if (fault !== null && !fault.startsWith("digest.")) refuse(fault);
  if (fault !== null) faults.push(`${fault}: it was changed after it was written.`);
  const receipt = JSON.parse(text) as Receipt;
  const of = (name: string) => Number(receipt.capture[name] as Count);
  const [first, end] = [of("first_ticket"), of("end_ticket")];
  const count = end - first - of("missing_count") - of("unknown_kind_count");
  const incident: Incident = {
    outline: {
      format: 1,
      memsnap: String(receipt.environment.recorder_version ?? ""),
      file: null,
      command: [],
      with_names: false,
      synthetic: false,
      window: {
        first_ticket: first,
        end_ticket: end,
        event_count: count,
        keyframe: receipt.capture.failure_seen_in === "keyframe",
        exact_first_ticket: first,
        exact_event_count: count,
        births_known_from_ticket: Number(receipt.evidence.growth?.births_known_from_ticket ?? 0),
      },
      clock: false,
      headline: { title: titleOf(receipt), event: eventOf(receipt), cause: causeOf(receipt), at: null },
      notes: [
        "A receipt alone: it has the verdict and its evidence, and no events. Lanes, memory map at any instant, flame graphs " +
          "and checks from events need the page of its ring.",
        ...faults,
      ],
      devices: devicesOf(receipt),
    },
    receipt,
    receiptText: text,
    names: namesOf(receipt),
    levels: kNoEvents,
    begin: kNoEvents,
    events: kNoEvents,
    derived: async () => kNoEvents,
  };
  return { incident, faults };
}
