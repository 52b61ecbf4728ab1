// SPDX-License-Identifier: Apache-2.0
//
// The verdict as it would be of the peak: the same rules, asked of another instant. The rule: only a lesson; the failure is what is judged
// (VERDICT.md §5), and the result is marked as changed wherever it is shown.
import { adviceFor, adviceForAnswers, probeFor } from "../checks/advice";
import { decide, kHypotheses } from "../checks/decide";
import { inequalityOf } from "../checks/inequality";
import { questionOf, type Question } from "../checks/question";
import { extentsOf, sumsOf } from "../checks/scene_extents";
import type { Incident } from "../data/incident";
import type { Receipt } from "../data/receipt";
import { askedAt } from "../history/compatibility";
import type { History } from "../history/history";
import { withReceipt } from "./edit";

// Counts below 2^53, as a lesson's are.
const told = (value: bigint): number => Number(value);

function writeLedgers(receipt: Receipt, incident: Incident, history: History): void {
  const { failure, ledgers, outside } = receipt.evidence as Receipt["evidence"] & { outside: Record<string, number | null> };
  const device = failure!.device;
  const row = history.peakRow(device)!; // a lesson is a whole window
  const at = (lane: Parameters<History["laneAt"]>[1]) => history.laneAt(device, lane, row);
  const request = Number(failure!.request_bytes);
  const sums = sumsOf(extentsOf(history, history.scene(device, row), askedAt(incident, history, device, row)!), request);
  const [active, reserved, free, total] = [at("active"), at("reserved"), at("expected_free"), at("total")];
  Object.assign(ledgers!, {
    total_bytes: total,
    device_free_bytes: free,
    reserved_bytes: reserved,
    allocated_bytes: active,
    active_bytes: active,
    slack_bytes: reserved - active,
    largest_free_extent_bytes: sums.largest,
    largest_compatible_extent_bytes: sums.largestCompatible,
    reusable_free_bytes: sums.reusable,
    fragmented_free_bytes: sums.fragmented,
    incompatible_free_bytes: sums.incompatible,
    free_extent_bytes: sums.reusable + sums.fragmented + sums.incompatible,
    remappable_bytes: sums.remappable,
    releasable_bytes: sums.releasable,
  });
  Object.assign(outside, { others_bytes: at("other_processes"), named_bytes: at("own_outside"), named_growth_bytes: at("own_outside") });
}

// What the rules come to, written where a receipt has it.
export function writeVerdict(receipt: Receipt, q: Question): void {
  const decision = decide(q);
  const { verdict } = receipt;
  const { ledgers } = receipt.evidence;
  const having = (status: string) => kHypotheses.filter((name) => decision.opinions[name].status === status).sort();
  const primary = having("primary")[0] ?? null;
  const advice = primary === null ? adviceForAnswers(decision.answers) : adviceFor(primary, q, decision);
  const kept = verdict.qualifiers.filter((word) => ["fatal", "survived", "blind", "incomplete"].includes(word));
  verdict.primary = primary;
  verdict.contributing = having("contributing");
  verdict.rejected = having("rejected");
  verdict.undecidable = having("undecidable");
  verdict.qualifiers = [...decision.qualifiers, ...kept].sort();
  verdict.exit_status = primary !== null || decision.answers.size > 0 ? 10 : 11;
  verdict.fix = advice?.fix ?? null;
  verdict.proof = advice?.proof ?? null;
  const n = decision.numbers;
  verdict.numbers =
    n === null
      ? null
      : {
          available_bytes: told(n.available),
          need_bytes: told(n.need),
          margin_bytes: told(n.margin),
          threshold_bytes: told(n.threshold),
          deficit_bytes: told(n.deficit),
          retained_bytes: told(n.retained),
          retained_upper_bytes: told(n.retainedUpper),
          removable_outside_bytes: told(n.removable),
          removable_outside_upper_bytes: told(n.removableUpper),
          contribution_floor_bytes: told(n.floor),
        };
  Object.assign(ledgers!, {
    margin_bytes: n === null || q.free === null ? null : told(n.margin),
    threshold_bytes: n === null || q.total === null ? null : told(n.threshold),
    outside_bytes: n === null || q.total === null || q.free === null ? null : told(n.outside),
  });
  for (const name of kHypotheses) {
    const own = verdict.hypotheses![name];
    const { status, qualifiers, margin } = decision.opinions[name];
    const advised = adviceFor(name, q, decision);
    own.status = status;
    own.qualifiers = [...qualifiers].sort();
    own.margin_bytes = margin === null ? null : told(margin.low);
    delete own.margin_high_bytes;
    if (margin !== null && margin.high !== margin.low) own.margin_high_bytes = told(margin.high);
    own.inequality = inequalityOf(name, q, decision);
    own.fix = advised?.fix ?? null;
    own.proof = advised?.proof ?? null;
    own.probe = probeFor(name, q, decision);
  }
}

export function atThePeak(incident: Incident, history: History): Incident {
  return withReceipt(
    incident,
    (receipt) => {
      writeLedgers(receipt, incident, history);
      writeVerdict(receipt, questionOf(receipt, "unknown")!);
    },
    true,
  );
}
