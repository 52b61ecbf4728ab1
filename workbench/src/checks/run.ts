// SPDX-License-Identifier: Apache-2.0
//
// All checks of an incident, one group after the other. The rule: no slice of work is so long that the page stops answering; an unexpected fault
// of a check makes that group "not recomputed", never a page that shows nothing.
import type { Incident } from "../data/incident";
import { isReceiptAlone } from "../data/receipt_incident";
import { Slices } from "../data/slices";
import type { History } from "../history/history";
import { balanceChecks } from "./balance";
import { besideChecks } from "./beside";
import { notRecomputed, type Check, type Group, type Pace, type Subject } from "./check";
import { digestChecks } from "./digests";
import type { Failing } from "./failing";
import { growthChecks } from "./growth";
import { ledgerChecks } from "./ledger";
import { holeReleaseOf, numberChecks } from "./numbers";
import { outlineChecks } from "./outline";
import { Rows } from "./rows";
import { ruleChecks } from "./rules";
import { siteChecks } from "./sites";
import { verdictChecks } from "./verdict";

// Waits only when the slice is spent.
export function paced(): Pace {
  const slices = new Slices();
  return {
    breathe: async () => {
      if (slices.spent) await slices.breathe();
    },
  };
}

export interface Progress {
  done: number; // groups
  of: number;
  checks: readonly Check[]; // so far
}

export async function runChecks(incident: Incident, history: History, onProgress?: (progress: Progress) => void): Promise<Check[]> {
  const pace = paced();
  const subject: Subject = { incident, history, pace, rows: await Rows.of(incident, pace) };
  let failing: Failing | null = null;
  const groups: Groups = [
    ["digests", () => digestChecks(subject)],
    ["outline", () => outlineChecks(incident, true)],
    [
      "numbers",
      () => {
        const found = numberChecks(subject);
        failing = found.failing;
        return found.checks;
      },
    ],
    ["growth", () => (failing === null ? [] : growthChecks(failing, subject))],
    ["verdict", () => verdictChecks(incident.receipt, failing === null ? null : holeReleaseOf(failing, subject))],
    ["balance", async () => [...balanceChecks(subject, failing), ...(await besideChecks(subject, failing))]],
    ["sites", () => siteChecks(subject, failing)],
    ["rules", () => ruleChecks(subject)],
    ["ledger", () => ledgerChecks(subject)],
  ];
  return run(groups, pace, onProgress);
}

// What needs no events: digests, verdict and, of a page, what it says of itself.
export async function runChecksOfReceipt(incident: Incident): Promise<Check[]> {
  const pace = paced();
  const groups: Groups = [
    ["digests", () => digestChecks({ incident, pace })],
    ["verdict", () => verdictChecks(incident.receipt, null)],
  ];
  const outline: Groups = [["outline", () => outlineChecks(incident, false)]];
  return run(isReceiptAlone(incident) ? groups : [...groups, ...outline], pace);
}

type Groups = readonly (readonly [Group, () => Check[] | Promise<Check[]>])[];

async function run(groups: Groups, pace: Pace, onProgress?: (progress: Progress) => void): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [done, [group, look]] of groups.entries()) {
    onProgress?.({ done, of: groups.length, checks });
    await pace.breathe();
    try {
      checks.push(...(await look()));
    } catch (fault) {
      const why = `the page could not follow: ${fault instanceof Error ? fault.message : String(fault)}`;
      checks.push({ id: group, group, title: group, from: "", result: notRecomputed(why) });
    }
  }
  onProgress?.({ done: groups.length, of: groups.length, checks });
  return checks;
}
