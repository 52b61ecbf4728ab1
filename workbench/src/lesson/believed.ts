// SPDX-License-Identifier: Apache-2.0
//
// What the rules would decide if what a change hides had never been recorded. The rule: the same decision as everywhere; only what is hidden is
// not known.
import { decide, type Decision } from "../checks/decide";
import { questionOf, type Question } from "../checks/question";
import type { Receipt } from "../data/receipt";

const withoutProcesses = (q: Question): Question => ({ ...q, others: null, sharesJob: false });
const withoutExternalLane = (q: Question): Question => ({
  ...withoutProcesses(q),
  total: null,
  free: null,
  freeObserved: false,
  baselineOutside: 0n,
  baselineUnattributed: 0n,
  earlierOutside: null,
});

const kHidden: Record<string, (q: Question) => Question> = { hide_processes: withoutProcesses, hide_external_lane: withoutExternalLane };

// null: the change hides nothing.
export function believed(mutation: string, receipt: Receipt): Decision | null {
  const hide = kHidden[mutation];
  const question = questionOf(receipt, "unknown");
  return hide === undefined || question === null ? null : decide(hide(question));
}
