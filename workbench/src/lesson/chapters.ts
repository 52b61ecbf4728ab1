// SPDX-License-Identifier: Apache-2.0
//
// The six parts of the lesson: what to look at, where, and when. The rule: an instant is found in the events, and a number in a text is one that
// the page shows there (tests/unit/lesson.test.ts).
import type { Incident } from "../data/incident";
import type { History } from "../history/history";
import type { ViewName } from "../session";

export interface Chapter {
  title: string;
  text: string[];
  look: string; // what to look at, in the view that opens
  view: ViewName;
  row: (incident: Incident, history: History) => number;
  reference?: (incident: Incident, history: History) => number; // a second instant, for differences
}

// The row of the nth event of a kind (from 0), −1 where there are fewer.
export function nth(incident: Incident, kind: string, count: number): number {
  const column = incident.events.column("kind");
  const word = incident.events.words.kind.indexOf(kind);
  for (let row = 0, seen = 0; row < incident.events.rows; ++row) if (column.number(row) === word && seen++ === count) return row;
  return -1;
}

export function last(incident: Incident, kind: string): number {
  const column = incident.events.column("kind");
  const word = incident.events.words.kind.indexOf(kind);
  for (let row = incident.events.rows - 1; row >= 0; --row) if (column.number(row) === word) return row;
  return -1;
}

export const kChapters: Chapter[] = [
  {
    title: "A healthy step",
    text: [
      "Weights and optimizer state are born once and stay: 3.00 GiB. Gradients stay too. The activation of 1.00 GiB comes " +
        "with each forward pass and goes with the backward pass.",
      "After the step, active bytes are back where they were. Reserved bytes are not: PyTorch keeps the freed segment for the " +
        "next step. Reserved is high, and nothing is wrong.",
    ],
    look: "Compare the two lanes, active and reserved, before and after the mark.",
    view: "lanes",
    row: (incident) => nth(incident, "step", 1),
  },
  {
    title: "The live set grows",
    text: [
      "A longer sequence needs a second activation of 1.50 GiB while the first still lives. This is the highest point of the " +
        "whole recording: 6.00 GiB.",
      "Nothing fails here: there was room on the card. A peak is not a cause; what counts is the instant of the failure, and it is still far away.",
    ],
    look: "The two widest boxes of the forward pass are the two activations.",
    view: "flame",
    row: (_incident, history) => history.peakRow(0)!,
  },
  {
    title: "Something is retained",
    text: [
      "From the fourth step on, every step leaves one block of 48.00 MiB behind, allocated in keep_history (metrics.py:22). " +
        "Its step ends, it lives on.",
      "One such block is initialisation; one in each of several steps is retention. The newest one is not judged: its step may still free it.",
    ],
    look: "Survivors by the step they were born in, and the points that rise at the end of each step.",
    view: "retention",
    row: (incident) => last(incident, "step"),
    reference: (incident) => nth(incident, "step", 2),
  },
  {
    title: "A hole pattern appears",
    text: [
      "An evaluation cuts the cached segment of 1.00 GiB into eight results of 128.00 MiB and drops every second one. 512.00 " +
        "MiB are free again, in four holes.",
      "The four results that live on hold the holes apart. A cached segment of 1.50 GiB is still free in one piece; once the " +
        "next step takes it, the holes are all that is left.",
    ],
    look: "The segment with stripes between its blocks.",
    view: "map",
    row: (incident) => nth(incident, "block_free", 11),
  },
  {
    title: "Something outside takes memory",
    text: [
      "libnccl.so.2 takes 64.00 MiB of the card by itself, past PyTorch's allocator. Then another process takes 900.00 MiB. " +
        "PyTorch's own lanes do not move.",
      "What is free on the device falls to 444.00 MiB. Who only looks at PyTorch's numbers cannot see why the next request fails.",
    ],
    look: "The split adds up to the card at every instant: what the others gained, the free part lost.",
    view: "holders",
    row: (incident) => last(incident, "device_sample"),
    reference: (incident) => nth(incident, "block_free", 11),
  },
  {
    title: "The failure and its verdict",
    text: [
      "PyTorch asks for 512.00 MiB. There are 444.00 MiB on the device and 512.00 MiB in holes, and no 512.00 MiB in one " +
        "piece. Fragmentation is primary: it would have fitted, had the free bytes been contiguous.",
      "Retention and external contributed: without either of them there would have been more room than the floor asks. " +
        "Live-set is rejected by the same margin that makes fragmentation primary.",
    ],
    look: "The margin, drawn to scale, and the inequality on each card.",
    view: "verdict",
    row: (_incident, history) => history.failureRow ?? -1,
  },
];
