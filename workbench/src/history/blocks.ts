// SPDX-License-Identifier: Apache-2.0
//
// Blocks: their lives, their categories, and those that were freed and are still waited for. The rule: a record that contradicts the state
// breaks a rule and then wins, so that what follows is right again.
import { type FoldState, kBeyond, type Rule } from "./fold_state";
import { type Category, kCategories, LifeKind } from "./history";
import type { Born } from "./lives_store";
import { Ordered, type Spot } from "./ordered";
import type { Regions } from "./regions";

const kGranule_bytes = 512;

interface Tap {
  requested: Map<number, number>; // bytes by place, of blocks not born yet
  freeRequested: number; // place; NaN: none
  freeCompleted: number;
}

// What was told of each block, newest first.
export class Categories {
  private readonly head = new Map<number, number>(); // by life: index
  private readonly next: number[] = [];
  private readonly rows: number[] = [];
  private readonly codes: number[] = [];

  tell(life: number, row: number, code: number): void {
    this.next.push(this.head.get(life) ?? -1);
    this.rows.push(row);
    this.head.set(life, this.codes.push(code) - 1);
  }

  at(life: number, row: number): Category {
    let index = this.head.get(life) ?? -1;
    while (index >= 0 && this.rows[index] > row) index = this.next[index];
    return index < 0 ? "unknown" : kCategories[this.codes[index]];
  }
}

export class Blocks {
  readonly categories = new Categories();
  private readonly byPlace = new Ordered();
  private readonly deferred = new Map<number, Map<number, number[]>>(); // lives by device, then place
  private readonly taps = new Map<number, Tap>(); // by device
  private readonly spot: Spot = { place: 0, value: -1 };

  constructor(
    private readonly state: FoldState,
    private readonly regions: Regions,
  ) {}

  private tap(device: number): Tap {
    let found = this.taps.get(device);
    if (found === undefined) this.taps.set(device, (found = { requested: new Map(), freeRequested: NaN, freeCompleted: NaN }));
    return found;
  }

  private end(life: number): number {
    const { place, size } = this.state.lives.lives;
    return place[life] + size[life];
  }

  // The rule it breaks, if it does. `requested`: where it was told otherwise than by an event.
  bear(block: Born, category = 0, requested = NaN): Rule | null {
    const { state } = this;
    if (block.device >= 0) {
      const pending = this.taps.get(block.device)?.requested;
      const told = pending?.get(block.place);
      if (told !== undefined) requested = told;
      pending?.delete(block.place);
    }
    if (Number.isNaN(block.place) || Number.isNaN(block.size)) {
      state.lose(block.device, kBeyond);
      return null;
    }
    if (block.size <= 0 || block.size % kGranule_bytes !== 0) return "block_size";
    const broken = this.clear(block.place, block.place + block.size);
    const life = state.lives.bear(LifeKind.block, state.row, block, requested);
    this.byPlace.set(block.place, life);
    state.device(block.device)?.add("allocated", state.row, block.size);
    if (category > 0) this.categorise(life, category);
    const region = this.regions.holding(block.place);
    if (region === null) return broken;
    const outside = block.place + block.size > region.place + region.size;
    this.regions.holdBlock(region, block.size, block.device);
    return broken ?? (outside ? "block_outside_segment" : null);
  }

  private clear(place: number, end: number): Rule | null {
    let broken: Rule | null = null;
    for (;;) {
      let other = this.byPlace.before(place, this.spot) ? this.spot.value : -1;
      if (other >= 0 && this.end(other) <= place) other = -1;
      if (other < 0 && this.byPlace.after(place, this.spot) && this.spot.place < end) other = this.spot.value;
      if (other < 0) return broken;
      broken ??= this.state.lives.lives.place[other] === place ? "block_live_twice" : "block_overlap";
      this.remove(other);
    }
  }

  private remove(life: number): void {
    const { state } = this;
    const { lives } = state.lives;
    this.byPlace.delete(lives.place[life]);
    const sums = state.device(lives.device[life]);
    const category = this.categories.at(life, state.row);
    if (sums !== null) {
      sums.add("allocated", state.row, -lives.size[life]);
      if (category !== "unknown") sums.add(category, state.row, -lives.size[life]);
    }
    state.lives.end(life, state.row);
  }

  // `birth`: as the row names it; NaN where it names none.
  free(place: number, size: number, device: number, birth: number): Rule | null {
    const { state } = this;
    const { lives } = state.lives;
    const life = Number.isNaN(place) ? -1 : this.byPlace.get(place);
    const matches = life >= 0 && lives.size[life] === size && lives.device[life] === device && (Number.isNaN(birth) || lives.ticket[life] === birth);
    if (life < 0) return "free_unmatched";
    this.remove(life);
    const tap = this.taps.get(device);
    if (tap !== undefined) {
      if (tap.freeRequested === place && tap.freeCompleted !== place) this.defer(life, device);
      tap.freeRequested = tap.freeCompleted = NaN;
    }
    return matches ? null : "free_mismatch";
  }

  private defer(life: number, device: number): void {
    const { lives } = this.state.lives;
    lives.deferredUntil[life] = this.state.rows;
    this.state.device(device)!.add("deferred", this.state.row, lives.size[life]);
    let places = this.deferred.get(device);
    if (places === undefined) this.deferred.set(device, (places = new Map()));
    const waiting = places.get(lives.place[life]);
    if (waiting === undefined) places.set(lives.place[life], [life]);
    else waiting.push(life);
  }

  // Freed before the first row, and still waited for.
  bearDeferred(block: Born): void {
    if (Number.isNaN(block.place) || Number.isNaN(block.size)) return this.state.lose(block.device, kBeyond);
    const life = this.state.lives.bear(LifeKind.block, this.state.row, block);
    this.state.lives.end(life, this.state.row);
    if (block.device >= 0) this.defer(life, block.device);
  }

  // Before the block is born.
  allocRequested(place: number, device: number, bytes: number): void {
    if (device >= 0) this.tap(device).requested.set(place, bytes);
  }

  freeRequested(place: number, device: number): void {
    if (device < 0) return;
    const tap = this.tap(device);
    tap.freeRequested = place;
    tap.freeCompleted = NaN;
  }

  freeCompleted(place: number, device: number): void {
    if (device < 0) return;
    const waiting = this.deferred.get(device)?.get(place);
    const life = waiting?.shift();
    if (life === undefined) {
      this.tap(device).freeCompleted = place;
      return;
    }
    if (waiting!.length === 0) this.deferred.get(device)!.delete(place);
    const { lives } = this.state.lives;
    lives.deferredUntil[life] = this.state.row;
    this.state.device(device)!.add("deferred", this.state.row, -lives.size[life]);
  }

  tell(place: number, device: number, code: number): void {
    if (!(code > 0 && code < kCategories.length) || !this.byPlace.before(place, this.spot)) return;
    const life = this.spot.value;
    if (place >= this.end(life) || this.state.lives.lives.device[life] !== device) return;
    this.categorise(life, code);
  }

  private categorise(life: number, code: number): void {
    const { lives } = this.state.lives;
    const sums = this.state.device(lives.device[life]);
    const [before, now] = [this.categories.at(life, this.state.row), kCategories[code]];
    this.categories.tell(life, this.state.row, code);
    if (sums === null) return;
    if (before !== "unknown") sums.add(before, this.state.row, -lives.size[life]);
    if (now !== "unknown") sums.add(now, this.state.row, lives.size[life]);
  }
}
