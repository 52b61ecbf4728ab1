// SPDX-License-Identifier: Apache-2.0
//
// Whether the verdict follows from the evidence beside it: status, margin, qualifiers, inequality, fix, proof and probe of each hypothesis, and
// what the four come to (VERDICT.md §8 to §10, §15). The rule: whether that evidence is right is for the other checks.
import type { HypothesisName, HypothesisVerdict, Receipt } from "../data/receipt";
import { adviceFor, adviceForAnswers, probeFor, type Advice } from "./advice";
import { Comparison, notRecomputed, type Check, type Result } from "./check";
import { decide, kHypotheses, type Decision } from "./decide";
import { inequalityOf } from "./inequality";
import { questionOf, type HoleRelease, type Question } from "./question";

const kNames: Record<HypothesisName, string> = { live_set: "live-set", retention: "retention", fragmentation: "fragmentation", external: "external" };
const sorted = (words: Iterable<string>) => [...words].sort();
const kNoIncident = "there is no incident in evidence, so nothing was decided";

function hypothesisResult(name: HypothesisName, q: Question, decision: Decision, told: HypothesisVerdict): Result {
  const member = (field: string) => `verdict.hypotheses.${name}.${field}`;
  const own = decision.opinions[name];
  const compared = new Comparison();
  compared.same(member("status"), own.status, told.status);
  compared.same(member("margin_bytes"), own.margin?.low ?? null, told.margin_bytes);
  const high = own.margin !== null && own.margin.high !== own.margin.low ? own.margin.high : null;
  compared.same(member("margin_high_bytes"), high, told.margin_high_bytes ?? null);
  compared.same(member("qualifiers"), sorted(own.qualifiers), told.qualifiers);
  compared.same(member("inequality"), inequalityOf(name, q, decision), told.inequality);
  const advice = adviceFor(name, q, decision);
  compared.same(member("fix"), advice?.fix, told.fix);
  compared.same(member("proof"), advice?.proof, told.proof);
  compared.same(member("probe"), probeFor(name, q, decision), told.probe);
  return compared.result();
}

// Of the recording rather than of the decision.
function recordingQualifiers(receipt: Receipt): string[] {
  const words: string[] = [];
  const failures = (receipt.evidence.failures ?? []) as { ticket: unknown; chain: number; followed: boolean }[];
  const failing = failures.find((failure) => String(failure.ticket) === String(receipt.evidence.failure!.ticket));
  if (failing !== undefined) words.push(failing.followed ? "survived" : "fatal");
  if (String(receipt.capture.blind_count) !== "0") words.push("blind");
  const full = (receipt.capture.uncertain as string[]).includes("table_incomplete");
  const incomplete = receipt.capture.start_mode === "late";
  // Whether the table was full already at the failure is not in the receipt.
  if (incomplete || (full && receipt.verdict.qualifiers.includes("incomplete"))) words.push("incomplete");
  return words;
}

function wholeResult(receipt: Receipt, q: Question, decision: Decision): Result {
  const told = receipt.verdict;
  const compared = new Comparison();
  const having = (status: string) => sorted(kHypotheses.filter((name) => decision.opinions[name].status === status));
  const primary = kHypotheses.find((name) => decision.opinions[name].status === "primary") ?? null;
  compared.same("verdict.primary", primary, told.primary);
  for (const status of ["contributing", "rejected", "undecidable"] as const) compared.same(`verdict.${status}`, having(status), told[status]);
  compared.same("verdict.qualifiers", sorted([...decision.qualifiers, ...recordingQualifiers(receipt)]), told.qualifiers);
  compared.same("verdict.exit_status", primary !== null || decision.answers.size > 0 ? 10 : 11, told.exit_status);
  const advice: Advice | null = primary === null ? adviceForAnswers(decision.answers) : adviceFor(primary, q, decision);
  compared.same("verdict.fix", advice?.fix, told.fix);
  compared.same("verdict.proof", advice?.proof, told.proof);
  return compared.result();
}

function numbersResult(receipt: Receipt, q: Question, decision: Decision): Result {
  const n = decision.numbers;
  const compared = new Comparison();
  const told = receipt.verdict.numbers;
  if (n === null || told === null) {
    compared.same("verdict.numbers", n === null ? null : "numbers", told === null ? null : "numbers");
    return compared.result();
  }
  const own: Record<string, bigint> = {
    available_bytes: n.available,
    need_bytes: n.need,
    margin_bytes: n.margin,
    threshold_bytes: n.threshold,
    deficit_bytes: n.deficit,
    retained_bytes: n.retained,
    retained_upper_bytes: n.retainedUpper,
    removable_outside_bytes: n.removable,
    removable_outside_upper_bytes: n.removableUpper,
    contribution_floor_bytes: n.floor,
  };
  for (const [name, value] of Object.entries(own)) compared.same(`verdict.numbers.${name}`, value, told[name]);
  const { ledgers } = receipt.evidence;
  compared.same("evidence.ledgers.margin_bytes", q.free === null ? null : n.margin, ledgers!.margin_bytes);
  compared.same("evidence.ledgers.threshold_bytes", q.total === null ? null : n.threshold, ledgers!.threshold_bytes);
  compared.same("evidence.ledgers.outside_bytes", q.total === null || q.free === null ? null : n.outside, ledgers!.outside_bytes);
  compared.same(
    "evidence.ledgers.active_bytes",
    n.need - (q.victim === "foreign" ? n.need - q.allocated - (q.deferred ?? 0n) : q.request!),
    ledgers!.active_bytes,
  );
  return compared.result();
}

// `holeRelease` is what the page found in the events; null when it could not look, then the one that the verdict needs is taken.
export function verdictChecks(receipt: Receipt, holeRelease: HoleRelease | null): Check[] {
  const from = "the receipt's evidence, by the rules of the decision";
  const candidates: HoleRelease[] = holeRelease === null ? ["unknown", "overlaps", "separate"] : [holeRelease];
  const check = (id: string, title: string, result: Result): Check => ({ id, group: "verdict", title, from, result });
  const all = candidates.map((release) => {
    const q = questionOf(receipt, release);
    if (q === null || receipt.verdict.hypotheses === null) return null;
    const decision = decide(q);
    const told = receipt.verdict.hypotheses;
    return [
      ...kHypotheses.map((name) =>
        check(`verdict.${name}`, `${kNames[name]}: status, margin, inequality, advice`, hypothesisResult(name, q, decision, told[name])),
      ),
      check("verdict.numbers", "the numbers of the decision", numbersResult(receipt, q, decision)),
      check("verdict.whole", "primary, lists, qualifiers, fix and exit status", wholeResult(receipt, q, decision)),
    ];
  });
  const fitting = all.find((checks) => checks !== null && checks.every((one) => one.result.kind === "agrees"));
  return fitting ?? all[0] ?? [check("verdict.whole", "the verdict", notRecomputed(kNoIncident))];
}
