// SPDX-License-Identifier: Apache-2.0
//
// The pass over the rows: each kind of event, and what it changes. The rule: state before a row and the row itself, nothing else; kinds that
// change nothing are not named.
import type { Column, Table } from "../data/table";
import { tellsOutside } from "./before";
import { Blocks } from "./blocks";
import { FoldState, kDeviceCapacity } from "./fold_state";
import type { Born } from "./lives_store";
import { type ObjectRow, Objects } from "./objects";
import { Regions } from "./regions";

const kNested = 1;
const kCapturing = 2;
const kFromTorch = 4;
const kImported = 8;

const kColumns = [
  "kind", "op", "object", "ticket", "device", "allocation", "size_bytes", "thread", "library", "site", "phase", "step", "code", "flags",
  "allocated_bytes", "reserved_bytes", "device_total_bytes", "device_free_bytes", "others_bytes", "place_bytes", "memory", "stream", "pool",
] as const;
type Read = Record<(typeof kColumns)[number], Column>;

const kBirths = new Set(["block_alloc", "initial", "initial_segment", "ok"]);

// −1: not known.
export const deviceOf = (value: number) => (value >= 0 && value < kDeviceCapacity ? value : -1);
const orMinusOne = (value: number) => (Number.isNaN(value) ? -1 : value);
const orZero = (value: number) => (Number.isNaN(value) ? 0 : value);

// Births of the window; what was live before it is little against them.
function expectedLives(events: Table): number {
  const kind = events.column("kind");
  const born = events.words.kind.map((word) => (kBirths.has(word) ? 1 : 0));
  let count = 0;
  for (let row = 0; row < events.rows; ++row) count += born[kind.number(row)] ?? 0;
  return count;
}

export class Fold {
  readonly state: FoldState;
  readonly regions: Regions;
  readonly blocks: Blocks;
  readonly objects: Objects;
  private readonly read: Read;
  private readonly born: Born = { place: NaN, size: NaN, device: -1, ticket: NaN, site: 0, phase: 0, step: 0, library: 0 };
  private readonly kinds: readonly (((row: number) => void) | null)[];

  constructor(
    private readonly events: Table,
    cut: boolean,
    late: boolean,
  ) {
    this.state = new FoldState(events.rows, expectedLives(events), cut, late);
    this.objects = new Objects(this.state);
    this.regions = new Regions(this.state, (object, inSegment) => this.objects.settle(object, inSegment));
    this.objects.regions = this.regions;
    this.blocks = new Blocks(this.state, this.regions);
    this.read = Object.fromEntries(kColumns.map((name) => [name, events.column(name)])) as Read;
    const kinds: Record<string, (row: number) => void> = {
      block_alloc: (row) => this.report(row, this.blocks.bear(this.block(row))),
      initial: (row) => this.report(row, this.blocks.bear(this.block(row))),
      block_free: (row) => this.free(row),
      block_oom: (row) => this.report(row, null),
      initial_segment: (row) => {
        if (this.counts(row)) this.objects.bear(this.object(row));
        this.report(row, null);
      },
      ok: (row) => {
        if (this.counts(row) && this.read.allocation.filled(row)) this.objects.bear(this.object(row));
      },
      free: (row) => this.freeObject(row),
      free_fail: (row) => {
        if (this.counts(row)) this.objects.takeBack(this.read.allocation.number(row), this.read.thread.number(row), this.device(row));
      },
      category: (row) => this.blocks.tell(this.read.place_bytes.number(row), this.device(row), this.read.code.number(row)),
      tap_alloc: (row) => this.tap(row, (place, device) => this.blocks.allocRequested(place, device, this.read.size_bytes.number(row))),
      tap_free_requested: (row) => this.tap(row, (place, device) => this.blocks.freeRequested(place, device)),
      tap_free_completed: (row) => this.tap(row, (place, device) => this.blocks.freeCompleted(place, device)),
      tap_segment_alloc: (row) => this.tap(row, (place, device) => this.tellSegment(row, place, device)),
      tap_segment_map: (row) => this.tap(row, (place, device) => this.tellSegment(row, place, device)),
      tap_segment_free: (row) => this.tap(row, () => undefined),
      tap_segment_unmap: (row) => this.tap(row, () => undefined),
      mem_info: (row) => this.answer(row),
      device_sample: (row) => this.answer(row),
      process_sample: (row) => {
        const others = this.read.others_bytes.number(row);
        if (!Number.isNaN(others)) this.state.device(this.device(row))?.told.others.set(row, others);
      },
    };
    this.kinds = events.words.kind.map((word) => (Object.hasOwn(kinds, word) ? kinds[word] : null));
  }

  take(row: number): void {
    this.state.row = row;
    const kind = this.read.kind.number(row);
    if (!Number.isNaN(kind)) this.kinds[kind]?.(row);
  }

  private device(row: number): number {
    return deviceOf(this.read.device.number(row));
  }

  // Whether it is a fact of its own that enters or ends something.
  private counts(row: number): boolean {
    return (orZero(this.read.flags.number(row)) & (kNested | kCapturing)) === 0;
  }

  // In the one place for it: nobody keeps it, and a million of them would cost.
  private block(row: number): Born {
    const { read, born } = this;
    born.place = read.place_bytes.number(row);
    born.size = read.size_bytes.number(row);
    born.device = this.device(row);
    born.ticket = read.ticket.number(row);
    born.site = orZero(read.site.number(row));
    born.phase = orZero(read.phase.number(row));
    born.step = orZero(read.step.number(row));
    born.library = orZero(read.library.number(row));
    return born;
  }

  private object(row: number): ObjectRow {
    const { read } = this;
    const flags = orZero(read.flags.number(row));
    const word = (column: Column, words: readonly string[]) => words[column.number(row)] ?? "none";
    return {
      ...this.block(row),
      object: word(read.object, this.events.words.object),
      op: word(read.op, this.events.words.op),
      fromTorch: (flags & kFromTorch) !== 0,
      imported: (flags & kImported) !== 0,
      memory: read.memory.number(row),
    };
  }

  private free(row: number): void {
    const { read } = this;
    this.report(row, this.blocks.free(read.place_bytes.number(row), read.size_bytes.number(row), this.device(row), read.allocation.number(row)));
  }

  private freeObject(row: number): void {
    if (!this.counts(row)) return;
    const { read } = this;
    const op = this.events.words.op[read.op.number(row)] ?? "none";
    if (!this.objects.free(read.allocation.number(row), op, read.ticket.number(row), read.thread.number(row))) this.state.break("object_unmatched");
  }

  // The allocator's own totals: what is not seen of them may not change from one report to the next.
  private report(row: number, broken: ReturnType<Blocks["bear"]>): void {
    const { read, state } = this;
    const [allocated, reserved] = [read.allocated_bytes.number(row), read.reserved_bytes.number(row)];
    const device = this.device(row);
    const sums = Number.isNaN(allocated) ? null : state.device(device);
    let rule = broken;
    if (sums !== null) {
      const unseen = allocated - sums.sums.allocated.last;
      const before = sums.told.unseen_allocated.last;
      if (!Number.isNaN(unseen - before) && unseen !== before) rule ??= "totals_allocated";
      if (reserved < allocated) rule ??= "totals_reserved";
      sums.told.unseen_allocated.set(row, unseen);
      sums.told.allocated_reported.set(row, allocated);
      sums.told.reserved_reported.set(row, reserved);
      this.regions.settle(device, reserved, read.ticket.number(row));
    }
    if (rule !== null) state.break(rule);
  }

  private tap(row: number, tell: (place: number, device: number) => void): void {
    this.state.seeTap();
    const place = this.read.place_bytes.number(row);
    if (!Number.isNaN(place)) tell(place, this.device(row));
  }

  private tellSegment(row: number, place: number, device: number): void {
    this.regions.tell(place, device, orMinusOne(this.read.stream.number(row)), orMinusOne(this.read.pool.number(row)));
  }

  private answer(row: number): void {
    const { read, state } = this;
    const [total, free] = [read.device_total_bytes.number(row), read.device_free_bytes.number(row)];
    const sums = state.device(this.device(row));
    if (sums === null || Number.isNaN(total) || !tellsOutside(state.late, read.reserved_bytes, row)) return;
    sums.told.total.set(row, total);
    sums.told.residual.set(row, total - free - sums.held - sums.sums.own.last);
    sums.told.others_then.set(row, sums.told.others.last);
  }
}
