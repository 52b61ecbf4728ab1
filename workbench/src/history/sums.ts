// SPDX-License-Identifier: Apache-2.0
//
// What is counted of a device, over the rows. The rule: bytes are exact or not known; from the first number on that a double cannot hold, a
// sum stays unknown.
import { Steps } from "./steps";

export const kSums = [
  "allocated", "deferred", "segment", "candidate", "direct", "unmapped", "own",
  "parameter", "gradient", "optimizer_state", "buffer", "input", "activation",
] as const;
export type Sum = (typeof kSums)[number];

// What was last told: `gap`: reported reserved less segments; `unseen_allocated`: reported allocated less the blocks that were live then; `residual`,
// `total`, `others_then`: of the last answer of the device.
export const kTold = [
  "gap", "unseen_allocated", "allocated_reported", "reserved_reported", "total", "residual", "others_then", "others",
] as const;
export type Told = (typeof kTold)[number];

export class DeviceSums {
  readonly sums = Object.fromEntries(kSums.map((it) => [it, new Steps(0)])) as Record<Sum, Steps>;
  readonly told = Object.fromEntries(kTold.map((it) => [it, new Steps(it === "gap" || it === "unseen_allocated" ? 0 : NaN)])) as Record<Told, Steps>;
  reportTicket = -1; // of the last report; −1: none

  add(sum: Sum, row: number, bytes: number): void {
    const steps = this.sums[sum];
    const value = steps.last + bytes;
    steps.set(row, Number.isSafeInteger(value) ? value : NaN);
  }

  // From a row on nothing is known any more.
  lose(row: number): void {
    for (const sum of kSums) this.sums[sum].set(row, NaN);
  }

  get held(): number {
    const { segment, candidate, direct, unmapped } = this.sums;
    return this.told.gap.last + segment.last + candidate.last + direct.last + unmapped.last;
  }

  get steps(): Steps[] {
    return [...Object.values(this.sums), ...Object.values(this.told)];
  }
}
