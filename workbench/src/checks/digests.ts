// SPDX-License-Identifier: Apache-2.0
//
// The receipt as a text: closed description, canonical form, both digests. The rule: that a digest fits says that nothing was changed since, not
// that what it covers is right.
import { faultOfDescription } from "../data/receipt_check";
import { canonicalText, receiptDigests } from "../data/receipt_digest";
import { agrees, Comparison, differs, type Check, type Result, type Subject } from "./check";

export async function digestChecks(subject: Pick<Subject, "incident" | "pace">): Promise<Check[]> {
  const { receipt, receiptText } = subject.incident;
  const check = (id: string, title: string, from: string, result: Result): Check => ({ id: `digests.${id}`, group: "digests", title, from, result });
  const fault = faultOfDescription(receiptText);
  await subject.pace.breathe();
  const own = receiptDigests(receipt);
  await subject.pace.breathe();
  const text = canonicalText(receipt) === receiptText ? agrees() : differs("receipt", "other text", "the receipt's text");
  const one = (member: "evidence" | "receipt") => {
    const compared = new Comparison();
    compared.same(`digest.${member}`, own[member], receipt.digest[member]);
    return compared.result();
  };
  return [
    check(
      "description",
      "the receipt is what the schema describes and nothing else, in canonical form",
      "the receipt's text",
      fault === null ? agrees() : differs("receipt", fault, "a receipt"),
    ),
    check("text", "the receipt that is shown is the text that is exported", "the receipt's text", text),
    check("evidence", "digest of the evidence", "the canonical text of evidence, by SHA-256", one("evidence")),
    check("receipt", "digest of the receipt", "the canonical text of the receipt, by SHA-256", one("receipt")),
  ];
}
