// SPDX-License-Identifier: Apache-2.0
//
// The canonical text of a receipt (RFC 8785) and its two digests (docs/receipt.md). The rule: a receipt holds integers and strings only, so
// canonical means sorted keys and no space; what is not so is found by writing it again and comparing.
import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import type { Receipt } from "./receipt";

const kOutsideTheDigest = new Set(["digest", "times", "names"]);

export function canonicalText(value: unknown, leftOut?: ReadonlySet<string>): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object)
    .filter((key) => !leftOut?.has(key))
    .sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(object[key])}`).join(",")}}`;
}

// Of the evidence alone, and of the receipt without what is outside the digest.
export function receiptDigests(receipt: Receipt): { evidence: string; receipt: string } {
  const digest = (text: string) => bytesToHex(sha256(utf8ToBytes(text)));
  return { evidence: digest(canonicalText(receipt.evidence)), receipt: digest(canonicalText(receipt, kOutsideTheDigest)) };
}
