// SPDX-License-Identifier: Apache-2.0
//
// The history of an incident. The rule: made in one pass, in slices; afterwards only asked.
import { peakTicket } from "../data/card";
import type { Incident } from "../data/incident";
import { Slices } from "../data/slices";
import type { Table } from "../data/table";
import { beganLate } from "./before";
import { beginOf } from "./begin";
import type { Categories } from "./blocks";
import { Fold } from "./fold";
import type { FoldState } from "./fold_state";
import { type Category, type History, type Lane, type Limit, LifeKind, type Lives, type Scene } from "./history";
import { laneAt, ledgerColumn, wholeLane } from "./lanes";
import { liveOf, sceneAt } from "./scene";
import { DeviceSums } from "./sums";
import type { Version } from "./versions";

const kRowsAStep = 2048;

// The last index whose value is at or before one; −1: none.
function lastAtOrBefore(count: number, value: number, at: (index: number) => number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

class MadeHistory implements History {
  readonly rows: number;
  readonly lives: Lives;
  readonly limits: readonly Limit[];
  readonly broken: History["broken"];
  readonly failureRow: number | null;
  private readonly failureDevice: number | null;
  private readonly events: Table;
  private readonly devices: readonly (DeviceSums | null)[];
  private readonly tapRow: number;
  private readonly lanes = new Map<string, Float64Array>();
  private readonly peaks = new Map<number, number | null>(); // by device
  private older: Map<number, number> | null = null; // lives of before the first row, by ticket

  constructor(
    private readonly incident: Incident,
    state: FoldState,
    private readonly versions: readonly Version[],
    private readonly categories: Categories,
  ) {
    this.events = incident.events;
    this.rows = state.rows;
    this.lives = state.lives.finish();
    this.devices = state.devices;
    this.tapRow = state.tapRow;
    this.broken = state.broken;
    this.limits = limitsOf(state);
    const { failure } = incident.receipt.evidence;
    const ticket = failure === null ? NaN : Number(failure.ticket);
    const row = this.rowOf(ticket);
    this.failureRow = row >= 0 && this.events.column("ticket").number(row) === ticket ? row : null;
    this.failureDevice = failure === null ? null : failure.device;
  }

  private sums(device: number): DeviceSums {
    return this.devices[device] ?? new DeviceSums();
  }

  scene(device: number, instant: number): Scene {
    return sceneAt(this.lives, this.versions, device, instant, instant >= this.tapRow);
  }

  categoryOf(life: number, instant: number): Category {
    return this.categories.at(life, instant);
  }

  lane(device: number, lane: Lane): Float64Array {
    const key = `${device} ${lane}`;
    let values = this.lanes.get(key);
    if (values === undefined) this.lanes.set(key, (values = wholeLane(this.sums(device), lane, this.rows)));
    return values;
  }

  laneAt(device: number, lane: Lane, instant: number): number {
    return laneAt(this.sums(device), lane, instant);
  }

  ledger(column: string): Float64Array {
    return ledgerColumn(this.events, this.devices, this.tapRow, beganLate(this.incident), column);
  }

  outsideByLibrary(device: number, instant: number): Map<number, number> {
    const bytes = new Map<number, number>();
    for (const life of liveOf(this.lives, LifeKind.outside, device, instant, this.lives.death)) {
      const library = this.lives.library[life];
      bytes.set(library, (bytes.get(library) ?? 0) + this.lives.size[life]);
    }
    return bytes;
  }

  rowOf(ticket: number): number {
    const tickets = this.events.column("ticket");
    return Number.isNaN(ticket) ? -1 : lastAtOrBefore(this.rows, ticket, (row) => tickets.number(row));
  }

  lifeOf(ticket: number): number {
    const row = this.rowOf(ticket);
    const { birth, ticket: tickets, kind, count } = this.lives;
    if (row >= 0 && this.events.column("ticket").number(row) === ticket) {
      for (let life = lastAtOrBefore(count, row, (index) => birth[index]); life >= 0 && birth[life] === row; --life)
        if (tickets[life] === ticket && kind[life] !== LifeKind.outside) return life;
      return -1;
    }
    if (this.older === null) {
      this.older = new Map();
      for (let life = 0; life < count && birth[life] < 0; ++life) if (kind[life] !== LifeKind.outside) this.older.set(tickets[life], life);
    }
    return this.older.get(ticket) ?? -1;
  }

  peakRow(device: number): number | null {
    let row = this.peaks.get(device);
    if (row === undefined) this.peaks.set(device, (row = this.mayHoldPeak(device) ? this.findPeak(device) : null));
    return row;
  }

  // The greatest of a part of the window is the peak only where the receipt's lies in that part.
  private mayHoldPeak(device: number): boolean {
    const { window } = this.incident.outline;
    if (window.exact_event_count === window.event_count) return true;
    const ticket = peakTicket(this.incident.receipt.evidence, device);
    return ticket !== null && Number(ticket) >= window.exact_first_ticket;
  }

  private findPeak(device: number): number {
    const { allocated } = this.sums(device).sums;
    const end = device === this.failureDevice && this.failureRow !== null ? this.failureRow : this.rows;
    let [best, at] = [allocated.at(-1), -1];
    for (let index = allocated.rank(-1); index < allocated.count && allocated.row(index) <= end; ++index)
      if (allocated.value(index) > best) [best, at] = [allocated.value(index), allocated.row(index)];
    return at;
  }
}

function limitsOf(state: FoldState): Limit[] {
  const lost = new Map(state.lost);
  state.devices.forEach((sums, device) => {
    const overflown = sums !== null && Object.values(sums.sums).some((it) => Number.isNaN(it.last));
    if (overflown && !lost.has(device)) lost.set(device, "a sum beyond 2^53");
  });
  return [...lost].map(([device, why]) => ({ column: `device ${device}`, why: `${why}: sums are not known from there on` }));
}

async function inSlices(rows: number, slices: Slices, take: (row: number) => void): Promise<void> {
  for (let from = 0; from < rows; from += kRowsAStep) {
    const to = Math.min(rows, from + kRowsAStep);
    for (let row = from; row < to; ++row) take(row);
    if (slices.spent) await slices.breathe();
  }
}

export async function buildHistory(incident: Incident): Promise<History> {
  const slices = new Slices();
  const { window } = incident.outline;
  const { begin, events } = incident;
  const fold = new Fold(events, window.exact_first_ticket > window.first_ticket, beganLate(incident));
  await inSlices(begin.rows, slices, beginOf(begin, fold));
  await inSlices(events.rows, slices, (row) => fold.take(row));
  const { state, regions, blocks } = fold;
  const versions = regions.finish();
  for (const sums of state.devices) for (const steps of sums?.steps ?? []) steps.trim();
  return new MadeHistory(incident, state, versions, blocks.categories);
}
