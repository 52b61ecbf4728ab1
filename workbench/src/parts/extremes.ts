// SPDX-License-Identifier: Apache-2.0
//
// Least and greatest of any range of a long column, in time that does not grow with the range. The rule: NaN is "not known" and is passed over; no
// value inside a range is ever lost to a coarser look.

export interface Range {
  least: number;
  greatest: number;
}

const kRun_count = 64; // values a run

export class Extremes {
  private readonly least: Float64Array;
  private readonly greatest: Float64Array;

  constructor(readonly values: ArrayLike<number>) {
    const runs = Math.ceil(values.length / kRun_count);
    this.least = new Float64Array(runs).fill(NaN);
    this.greatest = new Float64Array(runs).fill(NaN);
    for (let run = 0; run < runs; ++run) {
      let low = Infinity;
      let high = -Infinity;
      for (let at = run * kRun_count; at < Math.min(values.length, (run + 1) * kRun_count); ++at) {
        if (values[at] < low) low = values[at];
        if (values[at] > high) high = values[at];
      }
      if (low > high) continue;
      this.least[run] = low;
      this.greatest[run] = high;
    }
  }

  // Of [from, to); null where nothing is known.
  over(from: number, to: number): Range | null {
    const end = Math.min(to, this.values.length);
    let low = Infinity;
    let high = -Infinity;
    let at = Math.max(0, from);
    while (at < end) {
      if (at % kRun_count === 0 && at + kRun_count <= end) {
        const run = at / kRun_count;
        if (this.least[run] < low) low = this.least[run];
        if (this.greatest[run] > high) high = this.greatest[run];
        at += kRun_count;
      } else {
        const value = this.values[at];
        if (value < low) low = value;
        if (value > high) high = value;
        ++at;
      }
    }
    return low > high ? null : { least: low, greatest: high };
  }
}
