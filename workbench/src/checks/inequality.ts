// SPDX-License-Identifier: Apache-2.0
//
// The inequality of a hypothesis (VERDICT.md §10). The rule: `name number` terms, no digit grouping; every relation that is written holds.
import type { HypothesisName } from "../data/receipt";
import { activeOf, isForeign, type Decision, type Numbers } from "./decide";
import type { Question } from "./question";

interface Side {
  text: string;
  value: bigint;
}

const term = (name: string, value: bigint): Side => ({ text: `${name} ${value}`, value });
const reaches = (a: Side, b: Side) => `${a.text} ${a.value >= b.value ? ">=" : "<"} ${b.text}`;
const exceeds = (a: Side, b: Side) => `${a.text} ${a.value > b.value ? ">" : "<="} ${b.text}`;

function marginClause(q: Question, n: Numbers): string {
  const parts = [`available ${n.available}`];
  if (!isForeign(q)) parts.push(`active ${activeOf(q)}`);
  parts.push(`request ${isForeign(q) ? q.segmentRequest : q.request}`);
  return reaches({ text: `${parts.join(" - ")} = ${n.margin}`, value: n.margin }, term("threshold", n.threshold));
}

export function inequalityOf(name: HypothesisName, q: Question, decision: Decision): string {
  const n = decision.numbers;
  if (n === null) return "unknown: the numbers settle nothing";
  const roomy = n.margin >= n.threshold;
  const deficit = term("deficit", n.deficit);
  const clauses: string[] = [];
  if (name === "live_set" || name === "fragmentation") {
    clauses.push(marginClause(q, n));
    if (name === "live_set") {
      const relief = n.retained >= n.removable ? term("retained", n.retained) : term("removable_outside", n.removable);
      if (!roomy) clauses.push(exceeds(deficit, relief));
    } else {
      if (!isForeign(q)) clauses.push(reaches(term("largest_free_extent", q.largest), term("request", q.request!)));
      if (!roomy) clauses.push(reaches(term("fragmented_free", q.fragmented), term("threshold", n.threshold)));
    }
    return clauses.join(" and ");
  }
  const [word, low, high] =
    name === "retention" ? (["retained", n.retained, n.retainedUpper] as const) : (["removable_outside", n.removable, n.removableUpper] as const);
  if (roomy) clauses.push(marginClause(q, n));
  else {
    clauses.push(reaches(term(word, low), deficit));
    if (high !== low) clauses.push(reaches(term(`${word}_upper`, high), deficit));
  }
  if (roomy || low < n.deficit) clauses.push(reaches(term(word, low), term("contribution_floor", n.floor)));
  if (decision.opinions[name].qualifiers.has("jointly")) {
    const both = n.retained + n.removable;
    clauses.push(reaches({ text: `retained ${n.retained} + removable_outside ${n.removable} = ${both}`, value: both }, deficit));
  }
  return clauses.join(" and ");
}
