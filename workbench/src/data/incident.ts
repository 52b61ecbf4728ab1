// SPDX-License-Identifier: Apache-2.0
//
// One incident as memsnap-replay told it (docs/page.md). The rule: what is in here was read, nothing of it was computed by the page; null is
// "not known", never 0.
import type { Count, Receipt } from "./receipt";
import type { Table } from "./table";

export interface Outline {
  format: 1;
  memsnap: string;
  file: string | null;
  command: string[];
  with_names: boolean;
  synthetic: boolean;
  window: {
    first_ticket: number;
    end_ticket: number;
    event_count: number;
    keyframe: boolean;
    exact_first_ticket: number;
    exact_event_count: number;
    births_known_from_ticket: number; // of what was born before it nobody knows when; 0: all births are known
  };
  clock: boolean;
  headline: { title: string; event: string | null; cause: string | null; at: string | null };
  notes: string[];
  devices: number[];
}

export interface Frame {
  token?: string;
  function?: string;
  file?: string;
  line?: number | null;
  native?: boolean;
}

export interface SiteName {
  site: number;
  token?: string;
  frames?: number[]; // from the root, into frames
  size_bytes?: Count; // a block without a stack: its size stands for the site
  label?: string; // with names: the terminal's line for it
}

export interface Names {
  sites: SiteName[];
  frames: Frame[];
  phases: { phase: number; token: string; word: string | null; name?: string }[];
  libraries: { library: number; token?: string; role: string; name?: string }[];
  dimensions: { dimension: number; token: string; name?: string }[];
}

export interface Incident {
  outline: Outline;
  receipt: Receipt;
  receiptText: string; // byte for byte
  names: Names;
  levels: Table;
  begin: Table;
  events: Table;
  // The replay's own results for the same rows. Decoded when asked for: they are only compared and exported.
  derived: () => Promise<Table>;
}
