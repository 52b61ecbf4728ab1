// SPDX-License-Identifier: Apache-2.0
//
// Lanes and columns of the ledger, made of the sums of a device. The rule: a lane is the state after a row; a column of the ledger looks at the
// device's answers before its row, so that an answer can be compared with what was expected (docs/ledger.md).
import type { Table } from "../data/table";
import { tellsOutside } from "./before";
import type { Lane } from "./history";
import { DeviceSums } from "./sums";

type At = (row: number) => number;

// NaN, where a double would only be near.
const exact = (value: number) => (Number.isSafeInteger(value) ? value : NaN);
const orZero = (value: number) => (Number.isNaN(value) ? 0 : value);

// Functions of a row; `walk`: asked in rising order.
class DeviceLanes {
  constructor(
    private readonly device: DeviceSums,
    private readonly walk: boolean,
  ) {}

  private of(name: keyof DeviceSums["sums"] | keyof DeviceSums["told"]): At {
    const steps = name in this.device.sums ? this.device.sums[name as keyof DeviceSums["sums"]] : this.device.told[name as keyof DeviceSums["told"]];
    return this.walk ? steps.walk() : (row) => steps.at(row);
  }

  private sum(...parts: At[]): At {
    return (row) => exact(parts.reduce((sum, part) => sum + part(row), 0));
  }

  // `before`: how many rows before a row the answers end that count for it.
  answers(before: 0 | 1): { total: At; unattributed: At; others: At; expectedFree: At } {
    const [total, residual, then, others] = [this.of("total"), this.of("residual"), this.of("others_then"), this.of("others")];
    const held = this.lane("reserved");
    const own = this.of("own");
    const totalAt = (row: number) => total(row - before);
    const unattributed = (row: number) => exact(residual(row - before) - orZero(then(row - before)));
    const comparable = (row: number) => Number.isNaN(total(row - before)) || !Number.isNaN(then(row - before));
    const othersAt = (row: number) => (comparable(row) ? others(row) : NaN);
    return {
      total: totalAt,
      unattributed,
      others: othersAt,
      expectedFree: (row) => exact(totalAt(row) - held(row) - own(row) - orZero(othersAt(row)) - unattributed(row)),
    };
  }

  lane(lane: Lane): At {
    switch (lane) {
      case "active":
        return this.sum(this.of("allocated"), this.of("deferred"));
      case "in_use": {
        const [reported, allocated, deferred] = [this.of("allocated_reported"), this.of("allocated"), this.of("deferred")];
        return (row) => exact(Math.max(reported(row), allocated(row)) + deferred(row));
      }
      case "unseen_allocated": {
        const unseen = this.of("unseen_allocated");
        return (row) => Math.max(0, unseen(row));
      }
      case "reserved":
        return this.sum(this.of("gap"), this.of("segment"), this.of("candidate"), this.of("direct"), this.of("unmapped"));
      case "own_outside":
        return this.of("own");
      case "unattributed":
        return this.answers(0).unattributed;
      case "other_processes":
        return this.answers(0).others;
      case "expected_free":
        return this.answers(0).expectedFree;
      case "used": {
        const { total, expectedFree } = this.answers(0);
        return (row) => total(row) - expectedFree(row);
      }
      case "allocated":
      case "deferred":
      case "segment":
      case "candidate":
      case "direct":
      case "total":
      case "allocated_reported":
      case "reserved_reported":
        return this.of(lane);
      default:
        return this.of(lane.slice("category:".length) as keyof DeviceSums["sums"]);
    }
  }
}

export function wholeLane(device: DeviceSums, lane: Lane, rows: number): Float64Array {
  const at = new DeviceLanes(device, true).lane(lane);
  const values = new Float64Array(rows);
  for (let row = 0; row < rows; ++row) values[row] = at(row);
  return values;
}

export function laneAt(device: DeviceSums, lane: Lane, row: number): number {
  return new DeviceLanes(device, false).lane(lane)(row);
}

function columnOf(device: DeviceSums, column: string, tapRow: number): At {
  const lanes = new DeviceLanes(device, true);
  switch (column) {
    case "deferred_bytes": {
      const deferred = lanes.lane("deferred");
      return (row) => (row >= tapRow ? deferred(row) : NaN);
    }
    case "free_bytes": {
      const [segment, active] = [lanes.lane("segment"), lanes.lane("active")];
      return (row) => Math.max(0, segment(row) - active(row));
    }
    case "other_processes_bytes":
      return lanes.answers(1).others;
    case "unattributed_bytes":
      return lanes.answers(1).unattributed;
    case "expected_free_bytes":
      return lanes.answers(1).expectedFree;
  }
  const lane = kLaneOfColumn[column];
  if (lane === undefined) throw new Error(`no column ${column} of the ledger`);
  return lanes.lane(lane);
}

const kLaneOfColumn: Record<string, Lane> = {
  active_bytes: "active",
  segment_bytes: "segment",
  held_bytes: "reserved",
  own_outside_bytes: "own_outside",
  parameter_bytes: "category:parameter",
  gradient_bytes: "category:gradient",
  optimizer_state_bytes: "category:optimizer_state",
  buffer_bytes: "category:buffer",
  input_bytes: "category:input",
  activation_bytes: "category:activation",
};

// Of an answer's own row.
function outsideBytes(events: Table, late: boolean): At {
  const [total, free, reserved] = ["device_total_bytes", "device_free_bytes", "reserved_bytes"].map((name) => events.column(name));
  return (row) => {
    if (!tellsOutside(late, reserved, row)) return NaN;
    return Math.max(0, Math.max(0, total.number(row) - free.number(row)) - orZero(reserved.number(row)));
  };
}

export function ledgerColumn(
  events: Table,
  devices: readonly (DeviceSums | null)[],
  tapRow: number,
  late: boolean,
  column: string,
): Float64Array {
  const values = new Float64Array(events.rows).fill(NaN);
  if (column === "outside_bytes") {
    const at = outsideBytes(events, late);
    for (let row = 0; row < events.rows; ++row) values[row] = at(row);
    return values;
  }
  const device = events.column("device");
  const columns = devices.map((it) => columnOf(it ?? new DeviceSums(), column, tapRow)); // nothing said: nothing there
  for (let row = 0; row < events.rows; ++row) {
    const at = columns[device.number(row)];
    if (at !== undefined) values[row] = at(row);
  }
  return values;
}
