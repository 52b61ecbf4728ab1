// SPDX-License-Identifier: Apache-2.0
//
// A number over the rows of the window: only its changes are kept. The rule: a value counts from its row on; NaN is "not known".

export class Steps {
  count = 0;
  private rows = new Int32Array(16);
  private values = new Float64Array(16);

  constructor(private readonly first = NaN) {}

  get last(): number {
    return this.count === 0 ? this.first : this.values[this.count - 1];
  }

  set(row: number, value: number): void {
    if (Object.is(value, this.last)) return;
    if (this.count > 0 && this.rows[this.count - 1] === row) {
      this.values[this.count - 1] = value;
      return;
    }
    if (this.count === this.rows.length) this.grow(this.count * 2);
    this.rows[this.count] = row;
    this.values[this.count] = value;
    this.count += 1;
  }

  // Nothing more is entered.
  trim(): void {
    this.grow(this.count);
  }

  row(index: number): number {
    return this.rows[index];
  }

  value(index: number): number {
    return this.values[index];
  }

  // How many changes are at or before a row.
  rank(row: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle] <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  at(row: number): number {
    const rank = this.rank(row);
    return rank === 0 ? this.first : this.values[rank - 1];
  }

  // For rows that are asked in rising order.
  walk(): (row: number) => number {
    let index = 0;
    let value = this.first;
    return (row) => {
      while (index < this.count && this.rows[index] <= row) {
        value = this.values[index];
        index += 1;
      }
      return value;
    };
  }

  private grow(capacity: number): void {
    const [rows, values] = [new Int32Array(capacity), new Float64Array(capacity)];
    rows.set(this.rows.subarray(0, this.count));
    values.set(this.values.subarray(0, this.count));
    this.rows = rows;
    this.values = values;
  }
}
