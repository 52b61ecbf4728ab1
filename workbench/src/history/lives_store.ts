// SPDX-License-Identifier: Apache-2.0
//
// Lives as they are entered. The rule: in the order of their births; only the end of a life changes afterwards, and its device where it was
// not known.
import type { Lives } from "./history";

export interface Born {
  place: number;
  size: number;
  device: number; // −1: not known
  ticket: number;
  site: number;
  phase: number;
  step: number;
  library: number;
}

type Stored = { -readonly [Name in keyof Lives]: Lives[Name] };

function arrays(capacity: number): Stored {
  return {
    count: 0,
    kind: new Uint8Array(capacity),
    device: new Int8Array(capacity),
    birth: new Int32Array(capacity),
    death: new Int32Array(capacity),
    deferredUntil: new Int32Array(capacity),
    place: new Float64Array(capacity),
    size: new Float64Array(capacity),
    ticket: new Float64Array(capacity),
    site: new Int32Array(capacity),
    phase: new Int32Array(capacity),
    step: new Uint32Array(capacity),
    library: new Int32Array(capacity),
    requested: new Float64Array(capacity),
  };
}

export class LivesStore {
  lives: Stored;

  // `expected`: about how many lives there will be.
  constructor(
    private readonly endRow: number,
    expected: number,
  ) {
    this.lives = arrays(Math.max(64, expected));
  }

  // `kind`: of LifeKind.
  bear(kind: number, row: number, born: Born, requested = NaN): number {
    const life = this.lives.count;
    if (life === this.lives.kind.length) this.resize(life * 2);
    const { lives } = this;
    lives.kind[life] = kind;
    lives.device[life] = born.device;
    lives.birth[life] = row;
    lives.death[life] = lives.deferredUntil[life] = this.endRow;
    lives.place[life] = born.place;
    lives.size[life] = born.size;
    lives.ticket[life] = born.ticket;
    lives.site[life] = born.site;
    lives.phase[life] = born.phase;
    lives.step[life] = born.step;
    lives.library[life] = born.library;
    lives.requested[life] = requested;
    lives.count += 1;
    return life;
  }

  end(life: number, row: number): void {
    if (life >= 0) this.lives.death[life] = this.lives.deferredUntil[life] = row;
  }

  finish(): Lives {
    this.resize(this.lives.count);
    return this.lives;
  }

  private resize(capacity: number): void {
    const [from, to] = [this.lives, arrays(capacity)];
    to.count = from.count;
    for (const name of Object.keys(to) as (keyof Stored)[]) {
      const [source, target] = [from[name], to[name]];
      if (typeof target !== "number" && typeof source !== "number") target.set(source.subarray(0, from.count));
    }
    this.lives = to;
  }
}
