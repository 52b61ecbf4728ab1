// SPDX-License-Identifier: Apache-2.0
//
// What is open and what is looked at. The rule: views read and write these signals and nothing else, so that a click in one moves all.
import { signal, type Signal } from "@preact/signals";
import type { Comparison } from "./data/comparison";
import type { Incident } from "./data/incident";
import type { History } from "./history/history";

export interface Session {
  incident: Incident;
  history: History;
}

export type ViewName = "verdict" | "lanes" | "map" | "flame" | "retention" | "holders" | "events" | "checks" | "compare" | "lesson" | "receipt";

export const begun = signal(false); // it is known whether this document holds an incident
export const session = signal<Session | null>(null); // null: still being read, or nothing is open
export const opened = signal<Incident | null>(null); // the parts that are read at once; the history follows
export const other = signal<Incident | null>(null); // beside it, to compare with: the AFTER of the two
export const comparison = signal<Comparison | null>(null); // what memsnap-replay diff said of the two
export const receiptOnly = signal(false); // a receipt is open, without events: there will be no session
export const problem = signal<string | null>(null); // why nothing could be opened
export const view = signal<ViewName>("verdict");
export const device = signal(0);
export const instant = signal(-1); // a row of events, after it
export const reference = signal<number | null>(null); // a second instant, for differences
export const axis = signal<"events" | "time">("events");
export const span = signal<[number, number] | null>(null); // tickets shown by the lanes; null: all of the window
export const site = signal<number | null>(null); // highlighted everywhere
export const life = signal<number | null>(null); // a chosen block
export const theme = signal<"system" | "light" | "dark">("system"); // kept in memory only
export const drawnIn = signal<"light" | "dark">("light"); // what the theme comes to; canvases draw anew when it changes
export const printing = signal(false); // the page is laid out for paper
export const playing = signal(false); // the instant walks on by itself
export const helping = signal(false); // the list of keys is shown

const firstValues: (() => void)[] = [];

// A signal of a view that is about the incident that is open: with another one it has its first value again.
export function ofIncident<Value>(first: Value): Signal<Value> {
  const made = signal(first);
  firstValues.push(() => {
    made.value = first;
  });
  return made;
}

export function forgetIncident(): void {
  for (const toFirst of firstValues) toFirst();
}
