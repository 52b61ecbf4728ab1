// SPDX-License-Identifier: Apache-2.0
//
// The page's own check of a receipt: it takes every receipt that memsnap-replay writes, and refuses each change of one.
import { expect, test } from "vitest";
import type { Receipt } from "../../src/data/receipt";
import { faultOfReceipt } from "../../src/data/receipt_check";
import { canonicalText, receiptDigests } from "../../src/data/receipt_digest";
import { fixtureNames, toldOf } from "./check_fixtures";

const told = toldOf(fixtureNames());
const sixPart = told.find(({ name }) => name === "six_part")!.receipt;

// Edits the receipt and makes its digests anew, as a forger would.
function edited(edit: (receipt: Receipt) => void): string {
  const receipt = JSON.parse(sixPart) as Receipt;
  edit(receipt);
  Object.assign(receipt.digest, receiptDigests(receipt));
  return canonicalText(receipt);
}

test("every receipt of the fixtures is taken", () => {
  expect(told.length).toBeGreaterThan(150);
  for (const { name, receipt } of told) expect([name, faultOfReceipt(receipt)]).toEqual([name, null]);
});

test("a text that is no JSON, and JSON that is no receipt, are refused", () => {
  expect(faultOfReceipt("{")).toBe("the text is no JSON");
  for (const text of ["null", "[]", "7", '"receipt"']) expect(faultOfReceipt(text)).toBe("receipt: not of type object");
});

test("a member that no receipt has is refused wherever it stands, and its name is not repeated", () => {
  const secret = "/home/user/model.py";
  const fault = faultOfReceipt(edited((receipt) => Object.assign(receipt.evidence.ledgers!, { [secret]: 1 })));
  expect(fault).toBe("receipt.evidence.ledgers: has a member that no receipt has");
  expect(faultOfReceipt(edited((receipt) => Object.assign(receipt, { [secret]: 1 })))).not.toContain(secret);
  expect(faultOfReceipt(canonicalText(JSON.parse(`{"__proto__":{},${sixPart.slice(1)}`)))).toContain("has a member that no receipt has");
});

test("a member that is missing, a word of no list and a token of another form are refused", () => {
  expect(faultOfReceipt(edited((receipt) => delete receipt.capture.origin))).toBe("receipt.capture.origin: missing");
  const sites = (receipt: Receipt) => receipt.dictionary.sites as { token: string }[];
  expect(
    faultOfReceipt(
      edited((receipt) => {
        sites(receipt)[0].token = "attention (model.py:41)";
      }),
    ),
  ).toContain("token: not of its pattern");
  expect(
    faultOfReceipt(
      edited((receipt) => {
        receipt.verdict.fix = "see /home/user/notes";
      }),
    ),
  ).toContain("verdict.fix: not a word of its list");
  expect(
    faultOfReceipt(
      edited((receipt) => {
        receipt.evidence.ledgers!.total_bytes = -1;
      }),
    ),
  ).toContain("total_bytes");
  expect(
    faultOfReceipt(
      edited((receipt) => {
        receipt.evidence.ledgers!.total_bytes = 1.5;
      }),
    ),
  ).toContain("total_bytes");
});

test("other spacing, another order and another digest are refused", () => {
  const receipt = JSON.parse(sixPart) as Receipt;
  expect(faultOfReceipt(JSON.stringify(receipt, null, 1))).toBe("the text is not canonical");
  expect(faultOfReceipt(`${sixPart}\n`)).toBe("the text is not canonical");
  expect(faultOfReceipt(canonicalText({ ...receipt, digest: { ...receipt.digest, receipt: "0".repeat(64) } }))).toContain("digest.receipt");
  receipt.evidence.ledgers!.total_bytes = 5;
  expect(faultOfReceipt(canonicalText(receipt))).toContain("digest.evidence");
});

test("what lies outside the digests changes neither of them", () => {
  const receipt = JSON.parse(sixPart) as Receipt;
  receipt.times.failure_unix_ns = 5;
  expect(faultOfReceipt(canonicalText(receipt))).toBeNull();
});
