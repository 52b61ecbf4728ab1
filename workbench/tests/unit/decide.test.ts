// SPDX-License-Identifier: Apache-2.0
//
// The decision that the page makes from a receipt's evidence, against the verdict that stands in it.
import { expect, test } from "vitest";
import type { Check } from "../../src/checks/check";
import { decide } from "../../src/checks/decide";
import { inequalityOf } from "../../src/checks/inequality";
import { questionOf } from "../../src/checks/question";
import { verdictChecks } from "../../src/checks/verdict";
import type { HypothesisName, Receipt } from "../../src/data/receipt";
import { fixtureNames, toldOf } from "./check_fixtures";

const told = toldOf(fixtureNames());
const receiptOf = (name: string) => JSON.parse(told.find((one) => one.name === name)!.receipt) as Receipt;
const differing = (checks: Check[]) => checks.flatMap(({ id, result }) => (result.kind === "differs" ? [[id, result.difference.member]] : []));

test("the verdict of every fixture follows from its evidence", () => {
  let decided = 0;
  for (const { name, receipt } of told) {
    const checks = verdictChecks(JSON.parse(receipt), null);
    expect([name, differing(checks)]).toEqual([name, []]);
    decided += checks.filter(({ result }) => result.kind === "agrees").length;
  }
  expect(decided).toBeGreaterThan(900);
});

test("without an incident nothing is decided, and that is said", () => {
  const [check] = verdictChecks(receiptOf("peak_without_an_incident"), null);
  expect(check.result.kind).toBe("not_recomputed");
});

test.each<HypothesisName>(["live_set", "retention", "fragmentation", "external"])(
  "another status of %s is found, in its own check and in the whole",
  (name) => {
    const receipt = receiptOf("six_part");
    const { hypotheses } = receipt.verdict;
    hypotheses![name].status = hypotheses![name].status === "rejected" ? "contributing" : "rejected";
    expect(differing(verdictChecks(receipt, null))).toEqual([[`verdict.${name}`, `verdict.hypotheses.${name}.status`]]);
  },
);

test("a margin, a qualifier, a fix, a number and an inequality that do not follow are each found", () => {
  const forged = (edit: (receipt: Receipt) => void) => {
    const receipt = receiptOf("six_part");
    edit(receipt);
    return differing(verdictChecks(receipt, null));
  };
  expect(
    forged((r) => {
      r.verdict.hypotheses!.external.margin_bytes = 1;
    }),
  ).toEqual([["verdict.external", "verdict.hypotheses.external.margin_bytes"]]);
  expect(
    forged((r) => {
      r.verdict.hypotheses!.external.qualifiers = [];
    }),
  ).toEqual([["verdict.external", "verdict.hypotheses.external.qualifiers"]]);
  expect(
    forged((r) => {
      r.verdict.fix = "retry the request once: a hole that fits was there";
    }),
  ).toEqual([["verdict.whole", "verdict.fix"]]);
  expect(
    forged((r) => {
      r.verdict.numbers!.deficit_bytes = 1;
    }),
  ).toEqual([["verdict.numbers", "verdict.numbers.deficit_bytes"]]);
  expect(
    forged((r) => {
      r.evidence.ledgers!.margin_bytes = 1;
    }),
  ).toEqual([["verdict.numbers", "evidence.ledgers.margin_bytes"]]);
  expect(
    forged((r) => {
      r.verdict.primary = "live_set";
    }),
  ).toEqual([["verdict.whole", "verdict.primary"]]);
  expect(
    forged((r) => {
      r.verdict.exit_status = 11;
    }),
  ).toEqual([["verdict.whole", "verdict.exit_status"]]);
});

test("one byte of the request turns fragmentation over, exactly at the threshold", () => {
  const question = questionOf(receiptOf("edge_fragmented_reached"), "unknown")!;
  const at = (request: bigint) => decide({ ...question, request }).opinions.fragmentation.status;
  const margin = decide(question).numbers!.margin;
  const room = margin - decide(question).numbers!.threshold;
  const roomy = { ...question, request: question.request! + room, largest: 0n, largestCompatible: 0n };
  expect(decide(roomy).opinions.fragmentation.status).toBe("primary");
  expect(decide({ ...roomy, request: roomy.request + 1n }).opinions.fragmentation.status).not.toBe("primary");
  expect(at(1n << 60n)).toBe("undecidable");
});

test("numbers beyond 2^64 do not wrap", () => {
  const huge = 1n << 90n;
  const question = { ...questionOf(receiptOf("six_part"), "unknown")!, total: huge, free: huge / 2n };
  expect(decide(question).numbers!.threshold).toBe((huge * 15n) / 1000n);
  expect(inequalityOf("live_set", question, decide(question))).toContain(String(huge / 2n + question.reserved));
});
