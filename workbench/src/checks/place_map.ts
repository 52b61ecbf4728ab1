// SPDX-License-Identifier: Apache-2.0
//
// What lies where: ranges by place. The rule: ranges do not overlap (who adds one has removed what it lies on), so neighbours tell all; kept in
// short sorted runs, so that adding among many thousands stays cheap.

export interface Range<T> {
  place: number;
  end: number;
  value: T;
}

const kLongestRun_count = 512;

export class PlaceMap<T> {
  private runs: Range<T>[][] = [];

  // The range that begins last at or before a place.
  before(place: number): Range<T> | null {
    const at = this.runAt(place);
    if (at < 0) return null;
    return this.runs[at][this.indexIn(this.runs[at], place)] ?? null;
  }

  // All that overlap [place, end).
  overlapping(place: number, end: number): Range<T>[] {
    const found: Range<T>[] = [];
    let run = Math.max(0, this.runAt(place));
    let index = this.runs.length === 0 ? 0 : Math.max(0, this.indexIn(this.runs[run], place));
    for (; run < this.runs.length; ++run, index = 0) {
      for (; index < this.runs[run].length; ++index) {
        const range = this.runs[run][index];
        if (range.place >= end) return found;
        if (range.end > place || range.place === place) found.push(range);
      }
    }
    return found;
  }

  add(range: Range<T>) {
    const at = Math.max(0, this.runAt(range.place));
    if (this.runs.length === 0) this.runs.push([]);
    const run = this.runs[at];
    run.splice(this.indexIn(run, range.place) + 1, 0, range);
    if (run.length > kLongestRun_count) this.runs.splice(at + 1, 0, run.splice(run.length >> 1));
  }

  remove(range: Range<T>): boolean {
    const at = this.runAt(range.place);
    if (at < 0) return false;
    const index = this.runs[at].indexOf(range);
    if (index < 0) return false;
    this.runs[at].splice(index, 1);
    if (this.runs[at].length === 0) this.runs.splice(at, 1);
    return true;
  }

  // The run that a place belongs to: the last one that begins at or before it; −1: before all.
  private runAt(place: number): number {
    let low = 0;
    let high = this.runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.runs[middle][0].place <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  private indexIn(run: Range<T>[], place: number): number {
    let low = 0;
    let high = run.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (run[middle].place <= place) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
