// SPDX-License-Identifier: Apache-2.0
//
// The checks of what is open. The rule: they run by themselves, those that need no events at once and all when the history stands, in slices;
// another incident starts them anew, and what comes late of the one before is dropped.
import { effect, signal, type Signal } from "@preact/signals";
import type { Check } from "../checks/check";
import { runChecks, runChecksOfReceipt } from "../checks/run";
import type { Incident } from "../data/incident";
import { opened, other, session } from "../session";

export interface ChecksRun {
  of: Incident;
  checks: readonly Check[];
  early: readonly Check[]; // those that need no events, until all are done
  done: number; // groups
  groups: number;
  events: boolean; // of the events too
  finished: boolean;
}

export const checksRun = signal<ChecksRun | null>(null);
export const checksOfOther = signal<ChecksRun | null>(null); // of the run AFTER: those that need no events

function runEarly(of: Incident, run: Signal<ChecksRun | null>): void {
  run.value = { of, checks: [], early: [], done: 0, groups: 1, events: false, finished: false };
  void runChecksOfReceipt(of).then((checks) => {
    if (run.value?.of === of) run.value = { ...run.value, checks, early: checks, done: 1, finished: true };
    else if (run.value?.of.receipt === of.receipt && !run.value.finished) run.value = { ...run.value, early: checks };
  });
}

effect(() => {
  const [incident, now] = [opened.value, session.value];
  const before = checksRun.peek();
  if (incident === null) {
    checksRun.value = null;
  } else if (now === null) {
    if (before?.of !== incident) runEarly(incident, checksRun);
  } else if (before?.of !== now.incident) {
    const of = now.incident;
    const early = before?.of.receipt === of.receipt ? before.early : [];
    checksRun.value = { of, checks: [], early, done: 0, groups: 1, events: true, finished: false };
    void runChecks(of, now.history, ({ checks, done, of: groups }) => {
      if (checksRun.value?.of === of) checksRun.value = { ...checksRun.value, checks: [...checks], done, groups, finished: done === groups };
    });
  }
});

effect(() => {
  const beside = other.value;
  if (beside === null) checksOfOther.value = null;
  else if (checksOfOther.peek()?.of !== beside) runEarly(beside, checksOfOther);
});

// What objects so far; what needs no events counts from the moment it is known.
export function objecting(run: ChecksRun): Check[] {
  const all = run.finished ? run.checks : [...run.early, ...run.checks];
  const found = new Map(all.filter(({ result }) => result.kind === "differs").map((check) => [check.id, check]));
  return [...found.values()];
}
