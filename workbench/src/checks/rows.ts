// SPDX-License-Identifier: Apache-2.0
//
// The events as the checks read them. The rule: a row, and null for what it does not say; nothing here looks at the receipt's numbers.
import type { Incident } from "../data/incident";
import type { Column, Table } from "../data/table";
import { beganLate, tellsOutside } from "../history/before";
import type { Pace } from "./check";

export const kNested = 1;
export const kCapturing = 2;
export const kFromTorch = 4;
export const kImported = 8;

type Name =
  | "ticket"
  | "device"
  | "thread"
  | "library"
  | "allocation"
  | "size_bytes"
  | "value"
  | "dimension"
  | "site"
  | "phase"
  | "step"
  | "code"
  | "flags"
  | "cause"
  | "allocated_bytes"
  | "reserved_bytes"
  | "device_total_bytes"
  | "device_free_bytes"
  | "others_bytes"
  | "place_bytes"
  | "time_ns";

export class Rows {
  readonly count: number;
  private readonly columns: Record<Name, Column>;
  private readonly kinds: Column;
  private readonly ops: Column;
  private readonly objects: Column;

  private readonly byKind = new Map<string, number[]>();

  // One pass in slices, so that no check has to look through a million rows for the few of a kind.
  static async of(incident: Incident, pace: Pace): Promise<Rows> {
    const rows = new Rows(incident.events, beganLate(incident));
    for (let row = 0; row < rows.count; ++row) {
      if ((row & 4095) === 0) await pace.breathe();
      const kind = rows.kind(row);
      const list = rows.byKind.get(kind);
      if (list === undefined) rows.byKind.set(kind, [row]);
      else list.push(row);
    }
    return rows;
  }

  private constructor(
    readonly table: Table,
    private readonly late: boolean,
  ) {
    this.count = table.rows;
    this.columns = new Proxy({} as Record<Name, Column>, {
      get: (known, name: string) => (known[name as Name] ??= table.column(name)),
    });
    [this.kinds, this.ops, this.objects] = [table.column("kind"), table.column("op"), table.column("object")];
  }

  of(name: Name, row: number): number | null {
    return this.columns[name].at(row);
  }
  kind(row: number): string {
    return this.kinds.text(row);
  }
  op(row: number): string {
    return this.ops.text(row);
  }
  object(row: number): string {
    return this.objects.text(row);
  }
  has(row: number, flag: number): boolean {
    return ((this.of("flags", row) ?? 0) & flag) !== 0;
  }
  at(row: number): { row: number; ticket: string } {
    return { row, ticket: this.columns.ticket.text(row) };
  }
  // The rows of some kinds, in order.
  ofKinds(...kinds: string[]): number[] {
    const lists = kinds.map((kind) => this.byKind.get(kind) ?? []).filter((list) => list.length > 0);
    return lists.length === 1 ? lists[0] : lists.flat().sort((a, b) => a - b);
  }
  // Whether the row tells the totals of PyTorch's allocator on its device.
  isReport(row: number): boolean {
    const kind = this.kind(row);
    const reports = kind === "block_alloc" || kind === "block_free" || kind === "block_oom" || kind === "initial" || kind === "initial_segment";
    return reports && this.of("allocated_bytes", row) !== null && this.of("reserved_bytes", row) !== null;
  }
  // Whether the row is an answer of the device about its own bytes.
  isObservation(row: number): boolean {
    const kind = this.kind(row);
    const asked = kind === "mem_info" || kind === "device_sample";
    return asked && this.of("code", row) === 0 && this.of("device_total_bytes", row) !== null && this.of("device_free_bytes", row) !== null;
  }
  // Whether it is one, and not untold (VERDICT.md §3).
  tellsOutside(row: number): boolean {
    return this.isObservation(row) && tellsOutside(this.late, this.columns.reserved_bytes, row);
  }
}

// How much of the recording the page holds one by one.
export interface Reach {
  wholeWindow: boolean; // every event of the window
  fromBirth: boolean; // and the window begins with the recording, so that nothing was pinned before it
  why: string; // what is missing where it is not from birth
}

export function reachOf(incident: Incident): Reach {
  const { window } = incident.outline;
  const wholeWindow = window.exact_event_count === window.event_count && incident.events.rows === window.event_count;
  const fromBirth = wholeWindow && window.first_ticket === 0 && !window.keyframe;
  const why = !wholeWindow
    ? "the page holds a part of the window one by one"
    : window.keyframe
      ? "the failure is shown in the window of its keyframe, and what was before it is not in the page"
      : "the window begins after the recording did, and what was pinned before it is not in the page";
  return { wholeWindow, fromBirth, why: fromBirth ? "" : why };
}
