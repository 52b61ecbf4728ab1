// SPDX-License-Identifier: Apache-2.0
//
// What a check says. The rule: it agrees, it names the first difference with both values, or it says why it did not look; there is no fourth.
import type { Incident } from "../data/incident";
import type { History } from "../history/history";
import type { Rows } from "./rows";

export interface Difference {
  row: number | null; // of events; null where it is about no event
  ticket: string | null;
  member: string; // column of the ledger, or member of the receipt
  page: string; // what the page computed
  told: string; // what the file says
}

export type Result =
  | { kind: "agrees"; count: number; value: string | null } // how many values were compared, and which when it was one
  | { kind: "differs"; difference: Difference }
  | { kind: "not_recomputed"; why: string };

export type Group = "outline" | "rules" | "ledger" | "failure" | "numbers" | "growth" | "balance" | "sites" | "verdict" | "digests";

export interface Check {
  id: string;
  group: Group;
  title: string;
  from: string; // what it was recomputed from
  result: Result;
}

// A check that asks for time must look at `breathe` often: the page stays responsive, a million events or not.
export interface Pace {
  breathe(): Promise<void>;
}

export interface Subject {
  incident: Incident;
  history: History;
  rows: Rows;
  pace: Pace;
}

const kUnknown = "not known";

export function shown(value: unknown): string {
  if (value === null || value === undefined) return kUnknown;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const agrees = (count = 1, value: string | null = null): Result => ({ kind: "agrees", count, value });
export const notRecomputed = (why: string): Result => ({ kind: "not_recomputed", why });
export const differs = (member: string, page: unknown, told: unknown, at: { row: number; ticket: string } | null = null): Result => ({
  kind: "differs",
  difference: { row: at?.row ?? null, ticket: at?.ticket ?? null, member, page: shown(page), told: shown(told) },
});

// Compares values one after the other; the first difference stands.
export class Comparison {
  private count = 0;
  private last: string | null = null;
  private first: Result | null = null;

  // Numbers may be of any kind: a receipt writes large ones as digits.
  same(member: string, page: unknown, told: unknown, at: { row: number; ticket: string } | null = null): boolean {
    ++this.count;
    this.last = shown(told);
    if (shown(page) === this.last) return true;
    this.first ??= differs(member, page, told, at);
    return false;
  }

  result(): Result {
    return this.first ?? agrees(this.count, this.count === 1 ? this.last : null);
  }
}
