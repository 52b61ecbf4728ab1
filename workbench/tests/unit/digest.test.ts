// SPDX-License-Identifier: Apache-2.0
//
// Canonical text and digests.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Receipt } from "../../src/data/receipt";
import { canonicalText, receiptDigests } from "../../src/data/receipt_digest";
import { toldOf } from "./check_fixtures";

test("keys are sorted by their UTF-16 units, and nothing stands between", () => {
  expect(canonicalText({ b: [1, null, true, "x"], a: { é: 1, "\u{1f600}": 2, "\ufb33": 3, "1": 4, A: 5 } })).toBe(
    '{"a":{"1":4,"A":5,"é":1,"\u{1f600}":2,"\ufb33":3},"b":[1,null,true,"x"]}',
  );
  expect(canonicalText({ text: '"\\\n\u0001/' })).toBe('{"text":"\\"\\\\\\n\\u0001/"}');
});

test("a key that is the prototype's is a key like any other", () => {
  expect(canonicalText(JSON.parse('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}');
});

test("the digests are those of another implementation of SHA-256, over the text that memsnap-replay wrote", () => {
  const [{ receipt: text }] = toldOf(["six_part"]);
  const receipt = JSON.parse(text) as Receipt;
  const evidence = text.slice(text.indexOf('"evidence":{') + '"evidence":'.length, text.indexOf(',"references":'));
  expect(createHash("sha256").update(evidence).digest("hex")).toBe(receipt.digest.evidence);
  expect(receiptDigests(receipt)).toEqual({ evidence: receipt.digest.evidence, receipt: receipt.digest.receipt });
});
