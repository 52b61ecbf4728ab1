// SPDX-License-Identifier: Apache-2.0
//
// Going from instant to instant, and how one is called. The rule: an instant is after the event of a row; −1 is before the first event that the
// page holds one by one.
import type { Table } from "../data/table";
import { device, instant, playing, session } from "../session";
import { durationText, grouped } from "../parts/units";

// Without one, because nothing is read yet.
export function events(): Table | null {
  return session.value?.incident.events ?? null;
}

export function lastRow(): number {
  return (events()?.rows ?? 0) - 1;
}

export function goTo(row: number): void {
  instant.value = Math.min(lastRow(), Math.max(-1, Math.round(row)));
}

export function ticketOf(row: number): number | null {
  const table = events();
  if (table === null || row >= table.rows) return null;
  return row < 0 ? null : table.column("ticket").at(row);
}

export function goToTicket(ticket: number): void {
  if (session.value !== null) goTo(session.value.history.rowOf(ticket));
}

// Null where the page does not hold the event of the ticket one by one.
export function rowOfTicket(ticket: number | string): number | null {
  const row = session.value?.history.rowOf(Number(ticket)) ?? -1;
  return row >= 0 && ticketOf(row) === Number(ticket) ? row : null;
}

export function failureRow(): number | null {
  return session.value?.history.failureRow ?? null;
}

export function goToFailure(): void {
  const row = failureRow();
  if (row !== null) goTo(row);
}

// Null where the page does not hold it, or nothing is read yet.
export function peakRow(): number | null {
  return session.value?.history.peakRow(device.value) ?? null;
}

export function goToPeak(): void {
  const row = peakRow();
  if (row !== null) goTo(row);
}

const kLandmarks = new Set(["block_alloc", "block_oom", "fail", "initial"]);

// The next or previous row of the device where something was allocated or refused.
export function goToLandmark(direction: 1 | -1): void {
  const table = events();
  if (table === null) return;
  const kind = table.column("kind");
  const where = table.column("device");
  const wanted = table.words.kind.map((word) => kLandmarks.has(word));
  for (let row = instant.value + direction; row >= 0 && row < table.rows; row += direction) {
    if (wanted[kind.number(row)] && where.number(row) === device.value) return goTo(row);
  }
}

// "block_alloc, 40.00 MiB" and so on: kind, and what it was about.
export function eventText(row: number, size: (bytes: number) => string): string {
  const table = events();
  if (table === null || row < 0 || row >= table.rows) return "before the first event";
  const bytes = table.column("size_bytes").at(row);
  const op = table.column("op").text(row);
  return table.column("kind").text(row) + (op === "" || op === "none" ? "" : ` ${op}`) + (bytes === null ? "" : `, ${size(bytes)}`);
}

export function timeText(row: number): string | null {
  const table = events();
  if (table === null || row < 0 || row >= table.rows || !table.has("time_ns")) return null;
  const time_ns = table.column("time_ns").at(row);
  return time_ns === null ? null : durationText(time_ns);
}

// What is special about the instant, in words; null where nothing is.
export function landmarkText(row: number): string | null {
  if (session.value === null) return null;
  if (row === session.value.history.failureRow) return "the failure";
  if (row === peakRow()) return "the peak";
  return null;
}

export function instantText(row: number): string {
  const ticket = ticketOf(row);
  return ticket === null ? "before the first event" : `ticket ${grouped(ticket)}`;
}

// Where playing begins: some events before the failure, when the instant stands at it or at the end.
const kLeadIn_count = 40;

export function togglePlaying(): void {
  const failure = failureRow();
  if (!playing.value && failure !== null && instant.value === failure) goTo(failure - kLeadIn_count);
  else if (!playing.value && instant.value >= lastRow()) goTo(-1);
  playing.value = !playing.value;
}
