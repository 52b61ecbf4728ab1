// SPDX-License-Identifier: Apache-2.0
//
// What the files are called that leave the page: by the receipt's digest, so that nothing of the recording's name or place is told.
import type { Incident } from "../data/incident";
import { kDigest } from "./redaction";

const kDigestDigits_count = 12;

// Of an incident whose digest is none, as of an edited page, the name says nothing.
export function exportName(incident: Incident, what: string): string {
  const digest = String(incident.receipt.digest?.receipt ?? "");
  return `memsnap-${kDigest.test(digest) ? digest.slice(0, kDigestDigits_count) : "incident"}-${what}`;
}

export const receiptName = (incident: Incident) => exportName(incident, "receipt.json");
