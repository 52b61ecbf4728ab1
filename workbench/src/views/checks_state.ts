// SPDX-License-Identifier: Apache-2.0
//
// The checks of what is open. The rule: they are run once an incident, when somebody looks; another incident starts them anew, and what comes
// late of the one before is dropped.
import { effect, signal } from "@preact/signals";
import type { Check } from "../checks/check";
import { runChecks } from "../checks/run";
import { session, type Session } from "../session";

export interface ChecksRun {
  of: Session;
  checks: readonly Check[];
  done: number; // groups
  groups: number;
  finished: boolean;
}

export const checksRun = signal<ChecksRun | null>(null);

export function startChecks(): void {
  const now = session.value;
  if (now === null || checksRun.value?.of === now) return;
  checksRun.value = { of: now, checks: [], done: 0, groups: 1, finished: false };
  const tell = (checks: readonly Check[], done: number, groups: number) => {
    if (checksRun.value?.of === now) checksRun.value = { of: now, checks: [...checks], done, groups, finished: done === groups };
  };
  void runChecks(now.incident, now.history, (progress) => tell(progress.checks, progress.done, progress.of));
}

effect(() => {
  if (session.value === null) checksRun.value = null;
});
