// SPDX-License-Identifier: Apache-2.0
//
// What is open and what is looked at. The rule: views read and write these signals and nothing else, so that a click in one moves all.
import { signal } from "@preact/signals";
import type { Incident } from "./data/incident";
import type { History } from "./history/history";

export interface Session {
  incident: Incident;
  history: History;
}

export type ViewName = "verdict" | "lanes" | "map" | "flame" | "retention" | "holders" | "events" | "checks" | "compare" | "lesson";

export const session = signal<Session | null>(null); // null: still being read, or nothing is open
export const opened = signal<Incident | null>(null); // the parts that are read at once; the history follows
export const other = signal<Session | null>(null); // beside it, to compare with
export const problem = signal<string | null>(null); // why nothing could be opened
export const view = signal<ViewName>("verdict");
export const device = signal(0);
export const instant = signal(-1); // a row of events, after it
export const reference = signal<number | null>(null); // a second instant, for differences
export const axis = signal<"events" | "time">("events");
export const span = signal<[number, number] | null>(null); // rows shown by the lanes; null: all
export const site = signal<number | null>(null); // highlighted everywhere
export const life = signal<number | null>(null); // a chosen block
