// SPDX-License-Identifier: Apache-2.0
//
// What the lanes show and where: the stretch of the axis, and how it is moved. The rule: the stretch is kept in tickets, so that it is the same in
// event order and in real time.
import { axis, device, instant, ofIncident, opened, session, span } from "../session";
import { laneSource, type LaneSource } from "./lanes_source";
import { goTo, goToTicket } from "./instant";

export const kLeft_px = 74; // room for the names of an axis
export const kRight_px = 34;

export const hovered = ofIncident<number | null>(null); // place on the axis under the pointer

export function source(): LaneSource | null {
  return opened.value === null ? null : laneSource(opened.value, session.value, device.value, axis.value);
}

export function shown(of: LaneSource): [number, number] {
  if (span.value === null) return [of.from, of.to];
  const [from, to] = [of.ofTicket(span.value[0]), of.ofTicket(span.value[1])];
  return to > from ? [from, to] : [from, from + leastWidth(of)];
}

function leastWidth(of: LaneSource): number {
  return of.axis === "events" ? 4 : Math.max(1, (of.to - of.from) * 1e-7);
}

export function show(of: LaneSource, from: number, to: number): void {
  const width = Math.min(of.to - of.from, Math.max(leastWidth(of), to - from));
  const start = Math.min(of.to - width, Math.max(of.from, from + (to - from - width) / 2));
  if (width >= of.to - of.from) {
    span.value = null;
    return;
  }
  span.value = [of.ticketAt(start), of.ticketAt(start + width)];
}

export function zoom(of: LaneSource, factor: number, around: number): void {
  const [from, to] = shown(of);
  const width = (to - from) * factor;
  const part = (around - from) / (to - from);
  show(of, around - width * part, around + width * (1 - part));
}

export function pan(of: LaneSource, part: number): void {
  const [from, to] = shown(of);
  const by = Math.min(of.to - to, Math.max(of.from - from, (to - from) * part));
  show(of, from + by, to + by);
}

// Where the instant stands; before the first row at the begin.
export function instantPlace(of: LaneSource, row: number): number {
  return row < 0 ? (of.positions.rows[0] ?? of.from) : (of.positions.rows[row] ?? of.to);
}

export function choose(of: LaneSource, at: number): void {
  const row = of.rowAt(at);
  if (of.axis === "events") goToTicket(Math.floor(at));
  else if (row !== instant.value) goTo(row);
}

// The instant stays in sight when it is moved by keys or by playing.
export function keepInSight(of: LaneSource): void {
  const [from, to] = shown(of);
  const at = instantPlace(of, instant.value);
  const width = to - from;
  if (at < from) show(of, at - width * 0.1, at + width * 0.9);
  else if (at > to) show(of, at - width * 0.9, at + width * 0.1);
}

const kAround_count = 400; // events on either side of an instant that is looked at

export function showAround(of: LaneSource, row: number): void {
  const rows = of.positions.rows;
  if (rows.length === 0) return;
  const from = rows[Math.max(0, row - kAround_count)];
  const to = rows[Math.min(rows.length - 1, row + kAround_count / 4)];
  show(of, from, Math.max(to, from + leastWidth(of)));
}
