// SPDX-License-Identifier: Apache-2.0
//
// Opens an incident: from the packed parts of a page to what the views read. The rule: outline, receipt, names and levels first, so that there
// is something to see; the events follow in slices.
import { type Expected, decodeTable } from "./decode";
import { PageError } from "./error";
import type { Incident, Names, Outline } from "./incident";
import { readJson, readNames, readOutline, readReceipt } from "./json_part";
import { type Packed, partOf, unpack } from "./parts";
import type { Receipt } from "./receipt";
import type { Table } from "./table";

const kMostJson_bytes = 1 << 28;

const numbers = (...names: string[]): Expected => Object.fromEntries(names.map((name) => [name, "number"] as const));

export const kEventColumns: Expected = {
  kind: "kind", op: "op", object: "object",
  ...numbers(
    "ticket", "device", "allocation", "size_bytes", "thread", "library", "segment", "offset_bytes", "value", "dimension", "site", "phase", "step",
    "code", "flags", "cause", "allocated_bytes", "reserved_bytes", "device_total_bytes", "device_free_bytes", "others_bytes", "place_bytes",
    "memory", "stream", "pool", "time_ns",
  ),
};
export const kBeginColumns: Expected = {
  op: "op", object: "object", state: "state", category: "category", segment_kind: "segment_kind",
  ...numbers(
    "allocation", "device", "library", "place_bytes", "size_bytes", "site", "phase", "step", "flags", "memory", "stream",
    "pool", "requested_bytes",
  ),
  from_torch: "flag", large: "flag",
};
const kLanes = ["active", "reserved", "used", "own_outside", "other_processes", "unattributed"];
export const kLevelColumns: Expected = numbers(
  "device", "first_ticket", "last_ticket", "event_count", "first_ns", "last_ns",
  ...kLanes.flatMap((lane) => [`${lane}_least`, `${lane}_greatest`, `${lane}_last`]),
);
const kDerivedColumns: Expected = numbers(
  "active_bytes", "deferred_bytes", "segment_bytes", "free_bytes", "outside_bytes", "held_bytes", "own_outside_bytes", "other_processes_bytes",
  "unattributed_bytes", "expected_free_bytes", "parameter_bytes", "gradient_bytes", "optimizer_state_bytes", "buffer_bytes", "input_bytes",
  "activation_bytes",
);

// What can be shown at once.
export interface Opening {
  outline: Outline;
  receipt: Receipt;
  receiptText: string;
  names: Names;
  levels: Table;
  rest(): Promise<Incident>;
}

function demandTickets(events: Table): void {
  const ticket = events.column("ticket");
  let last = -1;
  for (let row = 0; row < events.rows; ++row) {
    const value = ticket.number(row);
    if (!(value > last)) throw new PageError("events", "has tickets that do not rise");
    last = value;
  }
}

async function rest(parts: Packed, opening: Opening): Promise<Incident> {
  const begin = await decodeTable("begin", await unpack("begin", partOf(parts, "begin")), null, kBeginColumns);
  const events = await decodeTable("events", await unpack("events", partOf(parts, "events")), null, kEventColumns);
  demandTickets(events);
  const packed = partOf(parts, "derived");
  const { outline, receipt, receiptText, names, levels } = opening;
  let derived: Promise<Table> | null = null;
  const decoded = async () => {
    const table = await decodeTable("derived", await unpack("derived", packed), events, kDerivedColumns);
    if (table.rows !== events.rows) throw new PageError("derived", "has another number of rows than events");
    return table;
  };
  return { outline, receipt, receiptText, names, levels, begin, events, derived: () => (derived ??= decoded()) };
}

export async function openIncident(parts: Packed): Promise<Opening> {
  const json = async (part: string) => readJson(part, await unpack(part, partOf(parts, part), kMostJson_bytes));
  const outline = readOutline((await json("outline")).json);
  const told = await json("receipt");
  const receipt = readReceipt(told.json);
  const names = readNames((await json("names")).json);
  const levels = await decodeTable("levels", await unpack("levels", partOf(parts, "levels")), null, kLevelColumns);
  const opening: Opening = { outline, receipt, receiptText: told.text, names, levels, rest: () => rest(parts, opening) };
  return opening;
}
