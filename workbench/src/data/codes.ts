// SPDX-License-Identifier: Apache-2.0
//
// LEB128 codes of a column (docs/page.md). The rule: every read is inside the bytes, and a value that a double cannot hold is refused, never
// rounded.
import { PageError } from "./error";

const kMostBytes = 10;
const kExactDigits = 7; // seven groups of seven bits: below 2^49

export class Codes {
  private at = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly part: string,
  ) {}

  get ended(): boolean {
    return this.at === this.bytes.length;
  }

  // A code below 2^49; −1 where it is greater: then large() reads it.
  next(): number {
    const bytes = this.bytes;
    const byte = bytes[this.at];
    if (byte < 128) {
      this.at += 1;
      return byte;
    }
    let value = 0;
    let unit = 1;
    const most = Math.min(bytes.length, this.at + kExactDigits);
    for (let at = this.at; at < most; ++at) {
      const digit = bytes[at];
      value += (digit & 127) * unit;
      if (digit < 128) {
        this.at = at + 1;
        return value;
      }
      unit *= 128;
    }
    if (most === bytes.length) throw new PageError(this.part, "a column ends within a number");
    return -1;
  }

  large(): bigint {
    let value = 0n;
    const most = Math.min(this.bytes.length, this.at + kMostBytes);
    for (let at = this.at, shift = 0n; at < most; ++at, shift += 7n) {
      value |= BigInt(this.bytes[at] & 127) << shift;
      if (this.bytes[at] < 128) {
        if (value >= 1n << 64n) break;
        this.at = at + 1;
        return value;
      }
    }
    throw new PageError(this.part, "a number of a column is longer than 64 bits");
  }

  // A count of rows.
  count(most: number): number {
    const value = this.next();
    if (value < 0 || value > most) throw new PageError(this.part, "a column counts more rows than the table has");
    return value;
  }

  // zigzag⁻¹(code − less) + base + more, exactly.
  difference(base: number, more: number, code: number, less: number): number {
    if (code >= 0) {
      const z = code - less;
      const from = base + more;
      const value = from + (z % 2 === 0 ? z / 2 : -(z + 1) / 2);
      if (Number.isSafeInteger(value) && Number.isSafeInteger(from)) return value;
    }
    const z = (code >= 0 ? BigInt(code) : this.large()) - BigInt(less);
    return this.exact(BigInt(base) + BigInt(more) + (z & 1n ? -((z + 1n) >> 1n) : z >> 1n));
  }

  // code − less
  plain(code: number, less: number): number {
    return code >= 0 ? code - less : this.exact(this.large() - BigInt(less));
  }

  private exact(value: bigint): number {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw new PageError(this.part, "a number of a column is beyond 2^53");
  }
}
