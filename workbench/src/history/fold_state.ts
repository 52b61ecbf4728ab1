// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the pass over the rows share: the row they are at, the sums of the devices, the lives, and what was found broken. The rule:
// one of it a history.
import type { BrokenRule } from "./history";
import { LivesStore } from "./lives_store";
import { DeviceSums } from "./sums";

export const kDeviceCapacity = 32;
export const kBeyond = "a number beyond 2^53";

// Rules of VERDICT.md §12 that replaying the rows meets.
export const kRules = [
  "block_size", "block_live_twice", "block_overlap", "block_outside_segment", "free_unmatched", "free_mismatch", "totals_allocated",
  "totals_reserved", "object_unmatched", "segment_overlap",
] as const;
export type Rule = (typeof kRules)[number];

export class FoldState {
  row = -1;
  tapRow = Infinity; // first row by which the torch tap was seen
  readonly lives: LivesStore;
  readonly devices: (DeviceSums | null)[] = Array.from({ length: kDeviceCapacity }, () => null);
  readonly broken = new Map<Rule, BrokenRule>();

  readonly lost = new Map<number, string>(); // device → why

  constructor(
    readonly rows: number,
    expectedLives: number,
    readonly cut: boolean, // the first row is not the window's first
    readonly late: boolean, // recording began in a running process
  ) {
    this.lives = new LivesStore(rows, expectedLives);
  }

  // null: not known.
  device(device: number): DeviceSums | null {
    if (!(device >= 0 && device < kDeviceCapacity)) return null;
    return (this.devices[device] ??= new DeviceSums());
  }

  seeTap(): void {
    if (this.tapRow === Infinity) this.tapRow = this.row;
  }

  break(rule: Rule): void {
    const found = this.broken.get(rule);
    if (found === undefined) this.broken.set(rule, { count: 1, row: this.row });
    else found.count += 1;
  }

  // A row that says too little: from here on the sums of its device are not known.
  lose(device: number, why: string): void {
    const sums = this.device(device);
    if (sums === null) return;
    if (!this.lost.has(device)) this.lost.set(device, why);
    sums.lose(this.row);
  }
}
