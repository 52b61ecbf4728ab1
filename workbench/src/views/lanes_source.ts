// SPDX-License-Identifier: Apache-2.0
//
// Lanes as they are drawn: rows where the page has them one by one, levels elsewhere, on one axis. The rule: made once for an incident, device and
// axis, and never out of the replay's `derived`.
import type { Incident } from "../data/incident";
import type { Table } from "../data/table";
import { beganLate } from "../history/before";
import type { History } from "../history/history";
import { Extremes } from "../parts/extremes";
import { firstFrom, type LaneData, type Positions } from "../parts/lane_points";
import type { Session } from "../session";

export const kDrawnLanes = ["active", "in_use", "reserved", "used", "own_outside", "other_processes", "unattributed"] as const;
export type DrawnLane = (typeof kDrawnLanes)[number];
export type Axis = "events" | "time";

// Without a late start nothing is in use but what is active.
export function drawnLanes(incident: Incident): readonly DrawnLane[] {
  return kDrawnLanes.filter((lane) => lane !== "in_use" || beganLate(incident));
}

export interface LaneSource {
  axis: Axis;
  positions: Positions;
  from: number; // of the whole window, on the axis
  to: number;
  lane(lane: DrawnLane): LaneData;
  ofTicket(ticket: number): number; // where on the axis
  ticketAt(at: number): number;
  rowAt(at: number): number; // last row at or before; −1: before the first, or none is there
}

// Events of threads may have times that go back a little; a place on the axis never does.
function neverBack(table: Table, column: string): Float64Array {
  const values = table.column(column);
  const places = new Float64Array(table.rows);
  let last = 0;
  for (let row = 0; row < table.rows; ++row) {
    const value = values.number(row);
    if (value > last) last = value;
    places[row] = last;
  }
  return places;
}

interface Runs {
  index: number[]; // rows of levels, of the device, outside what is there one by one
  firstTicket: Float64Array;
  lastTicket: Float64Array;
  from: Float64Array;
  to: Float64Array;
}

function runsOf(incident: Incident, device: number, axis: Axis, exact: [number, number] | null): Runs {
  const { levels } = incident;
  const column = (name: string) => levels.column(name);
  const [of, first, last] = [column("device"), column("first_ticket"), column("last_ticket")];
  const [firstTime, lastTime] = [column("first_ns"), column("last_ns")];
  const index: number[] = [];
  for (let row = 0; row < levels.rows; ++row) {
    if (of.number(row) !== device) continue;
    if (exact !== null && first.number(row) >= exact[0] && last.number(row) <= exact[1]) continue;
    index.push(row);
  }
  const places = (pick: (row: number) => number) => {
    let reached = 0;
    return Float64Array.from(index, (row) => (reached = Math.max(reached, pick(row) || 0)));
  };
  // A run that reaches into what is there one by one is drawn up to there.
  const clipped = (row: number) => (exact !== null && last.number(row) >= exact[0] && first.number(row) < exact[0] ? exact[0] : last.number(row));
  const firstTicket = places((row) =>
    exact !== null && first.number(row) >= exact[0] && first.number(row) <= exact[1] ? exact[1] : first.number(row),
  );
  const lastTicket = places(clipped);
  if (axis === "events") return { index, firstTicket, lastTicket, from: firstTicket, to: lastTicket };
  return { index, firstTicket, lastTicket, from: places((row) => firstTime.number(row)), to: places((row) => lastTime.number(row)) };
}

function between(places: ArrayLike<number>, values: ArrayLike<number>, at: number): number {
  const next = firstFrom(places, at);
  if (next === 0) return values[0] ?? 0;
  if (next >= places.length) return values[places.length - 1] ?? 0;
  const width = places[next] - places[next - 1];
  const part = width > 0 ? (at - places[next - 1]) / width : 1;
  return values[next - 1] + part * (values[next] - values[next - 1]);
}

function make(incident: Incident, history: History | null, device: number, axis: Axis): LaneSource {
  const { events, levels, outline } = incident;
  const rows = history === null ? 0 : events.rows;
  const ticketOfRow = rows === 0 ? new Float64Array(0) : neverBack(events, "ticket");
  const rowPlaces = rows === 0 || axis === "events" ? ticketOfRow : neverBack(events, "time_ns");
  const whole = outline.window.exact_event_count >= outline.window.event_count;
  const exact: [number, number] | null = rows === 0 ? null : whole ? [-Infinity, Infinity] : [ticketOfRow[0], ticketOfRow[rows - 1]];
  const runs = runsOf(incident, device, axis, exact);
  const cache = new Map<DrawnLane, LaneData>();
  const anchors = anchorsOf(ticketOfRow, rowPlaces, runs);
  const from = anchors.places[0] ?? 0;
  const to = Math.max(from + 1, anchors.places.at(-1) ?? 1);
  return {
    axis,
    positions: { rows: rowPlaces, runFrom: runs.from, runTo: runs.to },
    from,
    to,
    lane: (lane) => {
      let data = cache.get(lane);
      if (data === undefined) {
        const level = (what: string) => {
          if (lane === "in_use") return new Float64Array(runs.index.length).fill(NaN); // no level tells it
          const column = levels.column(`${lane}_${what}`);
          return Float64Array.from(runs.index, (row) => column.number(row));
        };
        data = {
          rows: history === null ? null : new Extremes(history.lane(device, lane)),
          least: level("least"),
          greatest: level("greatest"),
          last: level("last"),
        };
        cache.set(lane, data);
      }
      return data;
    },
    ofTicket: (ticket) => (axis === "events" ? ticket : between(anchors.tickets, anchors.places, ticket)),
    ticketAt: (at) => (axis === "events" ? at : between(anchors.places, anchors.tickets, at)),
    rowAt: (at) => {
      // The last one of several at the same place.
      let row = firstFrom(rowPlaces, at);
      while (row < rowPlaces.length && rowPlaces[row] === at) ++row;
      return row - 1;
    },
  };
}

// Ticket and place of every row and run end, in order.
function anchorsOf(ticketOfRow: Float64Array, rowPlaces: Float64Array, runs: Runs): { tickets: Float64Array; places: Float64Array } {
  const before: [number, number][] = [];
  const after: [number, number][] = [];
  const firstRow = ticketOfRow[0] ?? Infinity;
  runs.index.forEach((_, at) => {
    const list = runs.firstTicket[at] < firstRow ? before : after;
    list.push([runs.firstTicket[at], runs.from[at]], [runs.lastTicket[at], runs.to[at]]);
  });
  const count = before.length + ticketOfRow.length + after.length;
  const tickets = new Float64Array(count);
  const places = new Float64Array(count);
  const put = (list: [number, number][], start: number) =>
    list.forEach(([ticket, place], at) => {
      tickets[start + at] = ticket;
      places[start + at] = place;
    });
  put(before, 0);
  tickets.set(ticketOfRow, before.length);
  places.set(rowPlaces, before.length);
  put(after, before.length + ticketOfRow.length);
  return { tickets, places };
}

const made = new WeakMap<object, Map<string, LaneSource>>();

export function laneSource(incident: Incident, session: Session | null, device: number, axis: Axis): LaneSource {
  const owner = session ?? incident;
  let list = made.get(owner);
  if (list === undefined) made.set(owner, (list = new Map()));
  const wanted = axis === "time" && incident.outline.clock ? "time" : "events";
  const key = `${device} ${wanted}`;
  let source = list.get(key);
  if (source === undefined) list.set(key, (source = make(session?.incident ?? incident, session?.history ?? null, device, wanted)));
  return source;
}
