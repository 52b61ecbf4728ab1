// SPDX-License-Identifier: Apache-2.0
//
// Regions, and how they settle (VERDICT.md §3). The rule: contiguous mappings of PyTorch's allocator are one segment at every instant; what
// settles a region settles it for good.
import type { FoldState } from "./fold_state";
import type { SegmentState } from "./history";
import { Ordered, type Spot } from "./ordered";
import { type Region, type Version, Versions } from "./versions";

const kSmallRequest_bytes = 2 ** 20;

const kSumOf = { segment: "segment", candidate: "candidate", direct: "direct", foreign: null } as const;

export class Regions {
  private readonly versions = new Versions();
  private readonly byPlace = new Ordered(); // index into all
  private readonly all: (Region | null)[] = [];
  private readonly unused: number[] = [];
  private readonly pages = new Map<number, { size: number; life: number }>(); // of expandable segments, by place
  private readonly candidates = new Map<number, Set<Region>>(); // by device
  private fresh: Region[] = []; // candidates entered since the last report of any device
  private readonly spot: Spot = { place: 0, value: -1 };

  // `settled`: an object's memory came under PyTorch's allocator, or left it.
  constructor(
    private readonly state: FoldState,
    private readonly settled: (object: number, inSegment: boolean) => void,
  ) {}

  holding(place: number): Region | null {
    if (!this.byPlace.before(place, this.spot)) return null;
    const region = this.all[this.spot.value]!;
    return place < region.place + region.size ? region : null;
  }

  private enter(region: Region): void {
    const index = this.unused.pop() ?? this.all.push(null) - 1;
    this.all[index] = region;
    this.byPlace.set(region.place, index);
  }

  private take(region: Region): void {
    const index = this.byPlace.get(region.place);
    this.byPlace.delete(region.place);
    this.all[index] = null;
    this.unused.push(index);
    this.versions.end(region, this.state.row);
  }

  private account(region: Region, sign: 1 | -1): void {
    if (!region.expandable) this.settled(region.object, sign > 0 && region.state !== "foreign");
    const device = this.state.device(region.device);
    if (device === null) return;
    const sum = kSumOf[region.state];
    if (sum !== null) device.add(sum, this.state.row, sign * region.size);
    if (region.state !== "candidate") return;
    const candidates = this.candidates.get(region.device) ?? new Set();
    this.candidates.set(region.device, candidates);
    if (sign < 0) return void candidates.delete(region);
    candidates.add(region);
    this.fresh.push(region);
  }

  private become(region: Region, state: SegmentState, device: number): void {
    this.versions.end(region, this.state.row);
    this.account(region, -1);
    region.state = state;
    if (region.device < 0 && device >= 0) {
      region.device = device;
      if (region.life >= 0) this.state.lives.lives.device[region.life] = device;
    }
    this.account(region, 1);
  }

  // `life`: of the object's region, which for an expandable segment is a page of it.
  add(added: Region, life: number): void {
    const end = added.place + added.size;
    for (let other = this.overlapping(added.place, end); other !== null; other = this.overlapping(added.place, end)) {
      this.state.break("segment_overlap");
      this.account(other, -1);
      this.endLives(other);
      this.take(other);
    }
    const region = { ...added, since: this.state.row };
    if (region.expandable) this.pages.set(region.place, { size: region.size, life });
    const joins = (other: Region | null): other is Region =>
      other !== null && region.expandable && other.expandable && other.device === region.device && other.state === region.state;
    this.account(region, 1);
    const above = this.holding(end);
    if (joins(above) && above.place === end) {
      this.take(above);
      region.size += above.size;
      region.large ||= above.large;
      if (region.stream < 0) [region.stream, region.pool] = [above.stream, above.pool];
    }
    const below = this.byPlace.before(region.place, this.spot) ? this.all[this.spot.value] : null;
    if (joins(below) && below.place + below.size === region.place) {
      this.versions.end(below, this.state.row);
      below.size += region.size;
      below.large ||= region.large;
      if (below.stream < 0) [below.stream, below.pool] = [region.stream, region.pool];
    } else {
      this.enter(region);
    }
  }

  private overlapping(place: number, end: number): Region | null {
    const below = this.holding(place);
    if (below !== null) return below;
    if (!this.byPlace.after(place, this.spot) || this.spot.place >= end) return null;
    return this.all[this.spot.value];
  }

  private endLives(region: Region): void {
    if (!region.expandable) return this.state.lives.end(region.life, this.state.row);
    for (let place = region.place; place < region.place + region.size; ) {
      const page = this.pages.get(place);
      if (page === undefined) return;
      this.state.lives.end(page.life, this.state.row);
      this.pages.delete(place);
      place += page.size;
    }
  }

  // What an object's end takes away; as it was, should the end be refused. null: the object was no region (any more).
  remove(object: number, place: number, size: number): Region | null {
    const whole = this.holding(place);
    const end = place + size;
    if (whole === null || whole.place + whole.size < end) return null;
    if (!whole.expandable && whole.object !== object) return null;
    const removed: Region = { ...whole, place, size, granule: size };
    this.account(whole, -1);
    const page = this.pages.get(place);
    this.state.lives.end(whole.expandable ? (page?.life ?? -1) : whole.life, this.state.row);
    this.pages.delete(place);
    this.take(whole);
    for (const [from, to] of [[whole.place, place], [end, whole.place + whole.size]]) {
      if (from >= to) continue;
      const rest: Region = { ...whole, place: from, size: to - from, granule: this.pages.get(from)?.size ?? whole.granule, since: this.state.row };
      this.account(rest, 1);
      this.enter(rest);
    }
    return removed;
  }

  // A block was reported, its first byte in the region.
  holdBlock(region: Region, size: number, device: number): void {
    if (size > kSmallRequest_bytes && !region.large) {
      this.versions.end(region, this.state.row);
      region.large = true;
    }
    if (region.state !== "segment") this.become(region, "segment", device);
  }

  // The torch tap tells of the segment that holds a place; −1: no number.
  tell(place: number, device: number, stream: number, pool: number): void {
    const region = this.holding(place);
    if (region === null) return;
    if (region.stream !== stream || region.pool !== pool) {
      this.versions.end(region, this.state.row);
      [region.stream, region.pool] = [stream, pool];
    }
    if (region.state !== "segment" || region.device < 0) this.become(region, "segment", device);
  }

  // At a report, its own block being entered or removed.
  settle(device: number, reserved: number, ticket: number): void {
    const sums = this.state.device(device)!;
    const { segment, candidate } = sums.sums;
    const gap = reserved - segment.last;
    const risen = gap - sums.told.gap.last;
    if (candidate.last > 0) {
      const all = gap === candidate.last || risen === candidate.last;
      const waiting = this.candidates.get(device) ?? new Set();
      if (all || gap === 0) {
        for (const region of [...waiting]) this.become(region, all ? "segment" : "direct", device);
      } else if (risen === 0 && sums.reportTicket >= 0) {
        for (const region of this.fresh) if (waiting.has(region) && region.ticket > sums.reportTicket) this.become(region, "direct", device);
      }
    }
    sums.told.gap.set(this.state.row, reserved - segment.last);
    sums.reportTicket = ticket;
    if (this.fresh.length > 0) this.fresh = this.fresh.filter((region) => region.device !== device);
  }

  finish(): readonly Version[] {
    this.byPlace.forEach((index) => this.versions.end(this.all[index]!, this.state.rows));
    return this.versions.all;
  }
}
