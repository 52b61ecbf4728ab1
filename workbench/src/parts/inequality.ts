// SPDX-License-Identifier: Apache-2.0
//
// The line that decided a hypothesis (VERDICT.md §10), taken apart: clauses joined by "and", terms with their names, a relation. The rule: what does
// not have that form is shown as the line it is.
import { GiB_bytes, hundredths, hundredthsText, isNextToNothing, MiB_bytes } from "./units";

export type Relation = ">=" | ">" | "<=" | "<";

export interface Term {
  name: string;
  bytes: bigint;
  subtracted: boolean;
}

export interface Side {
  terms: Term[];
  sum: bigint;
}

export interface Clause {
  left: Side;
  relation: Relation;
  right: Side;
}

const kTerm = /^([a-z_]+) (-?[0-9]+)$/;

function side(text: string): Side | null {
  const [body, sum] = text.split(" = ");
  const terms: Term[] = [];
  let subtracted = false;
  for (const part of body.split(/( [+-] )/)) {
    if (part === " + " || part === " - ") {
      subtracted = part === " - ";
      continue;
    }
    const found = kTerm.exec(part);
    if (found === null) return null;
    terms.push({ name: found[1], bytes: BigInt(found[2]), subtracted });
  }
  const added = terms.reduce((total, term) => total + (term.subtracted ? -term.bytes : term.bytes), 0n);
  if (sum !== undefined && (!/^-?[0-9]+$/.test(sum) || BigInt(sum) !== added)) return null;
  return { terms, sum: added };
}

export function clauses(inequality: string): Clause[] | null {
  const found: Clause[] = [];
  for (const text of inequality.split(" and ")) {
    const [left, relation, right, ...more] = text.split(/ (>=|<=|>|<) /);
    if (right === undefined || more.length !== 0) return null;
    const sides = [side(left), side(right)];
    if (sides[0] === null || sides[1] === null) return null;
    found.push({ left: sides[0], relation: relation as Relation, right: sides[1] });
  }
  return found;
}

const kRelations: Record<Relation, string> = { ">=": "≥", ">": ">", "<=": "≤", "<": "<" };

export function relationText(relation: Relation): string {
  return kRelations[relation];
}

const kNames: Record<string, string> = {
  available: "available",
  active: "active",
  request: "asked",
  threshold: "τ",
  deficit: "deficit",
  retained: "retained",
  retained_upper: "retained, at most",
  removable_outside: "removable outside",
  removable_outside_upper: "removable outside, at most",
  contribution_floor: "floor",
  largest_free_extent: "largest hole",
  fragmented_free: "fragmented",
};

export function termText(name: string): string {
  return kNames[name] ?? name.replaceAll("_", " ");
}

// A sum in one unit whose terms are rounded one by one, so that what is shown adds up (replay/report_sentence.cpp). The sum has the unit.
export function sumText(side: Side): { terms: string[]; sum: string; bare: string; unit: string } {
  const small = isNextToNothing(side.sum);
  const unit_bytes = small ? MiB_bytes : GiB_bytes;
  const unit = small ? "MiB" : "GiB";
  const rounded = side.terms.map((term) => hundredths(term.bytes, unit_bytes));
  const bare = hundredthsText(rounded.reduce((sum, one, at) => sum + (side.terms[at].subtracted ? -one : one), 0n));
  return { terms: rounded.map(hundredthsText), sum: `${bare} ${unit}`, bare, unit };
}
