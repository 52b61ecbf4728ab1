// SPDX-License-Identifier: Apache-2.0
//
// Changes to an incident, to see which check objects. The rule: each is a function of the incident and gives another one; what it does stands in
// its words, and that it is found is never arranged.
import type { Incident } from "../data/incident";
import type { Receipt } from "../data/receipt";
import type { History } from "../history/history";
import { withCell, withoutRows, withReceipt } from "./edit";
import { atThePeak } from "./peak";

export interface Mutation {
  id: string;
  title: string; // what is done
  means: string; // what it stands for in a real case
  watch: string; // why the checks that object do
  apply: (incident: Incident, history: History, chosen: number | null) => Incident;
}

// The block that is changed: the chosen one if it is live at the failure, else the first one that lies between two holes there.
function blockOf(incident: Incident, history: History, chosen: number | null): number {
  const { failure } = incident.receipt.evidence;
  if (failure === null || history.failureRow === null) return -1;
  const { lives } = history;
  const { blocks, free, deferred } = history.scene(failure.device, history.failureRow);
  const here = [...blocks].filter((life) => lives.birth[life] >= 0 && !deferred.has(life));
  if (chosen !== null && here.includes(chosen)) return chosen;
  const [begins, ends] = [new Set(free.map((hole) => hole.place)), new Set(free.map((hole) => hole.place + hole.size))];
  const between = here.find((life) => ends.has(lives.place[life]) && begins.has(lives.place[life] + lives.size[life]));
  return between ?? here[0] ?? -1;
}

export function dropBlock(incident: Incident, history: History, chosen: number | null): Incident {
  const life = blockOf(incident, history, chosen);
  if (life < 0) return incident;
  const allocation = incident.events.column("allocation");
  return withoutRows(incident, (row) => allocation.number(row) === history.lives.ticket[life]);
}

export function changeSize(incident: Incident, history: History, chosen: number | null): Incident {
  const life = blockOf(incident, history, chosen);
  return life < 0 ? incident : withCell(incident, "size_bytes", history.lives.birth[life], history.lives.size[life] / 2);
}

function withoutKinds(incident: Incident, words: string[]): Incident {
  const kind = incident.events.column("kind");
  const dropped = incident.events.words.kind.map((word) => words.includes(word));
  return withoutRows(incident, (row) => dropped[kind.number(row)]);
}

const kProcesses = ["process_sample", "neighbour"];
const kDevice = ["mem_info", "device_sample"];

export function hideProcesses(incident: Incident): Incident {
  return withoutKinds(incident, kProcesses);
}

export function hideExternalLane(incident: Incident): Incident {
  return withoutKinds(incident, [...kProcesses, ...kDevice]);
}

// Two free extents with one block between them become one, and the block moves to the end of both: every sum stays.
function mergeIn(receipt: Receipt): void {
  const { extents, ledgers } = receipt.evidence;
  if (extents === null || ledgers === null) return;
  const [segment, offset, size, state] = ["segment", "offset_bytes", "size_bytes", "state"].map((name) => extents.columns.indexOf(name));
  const { rows } = extents;
  const at = rows.findIndex((row, index) => {
    const [next, last] = [rows[index + 1], rows[index + 2]];
    return last !== undefined && row[segment] === last[segment] && row[state] === "free" && next[state] !== "free" && last[state] === "free";
  });
  if (at < 0) return;
  const [first, block, last] = rows.slice(at, at + 3);
  const merged = Number(first[size]) + Number(last[size]);
  const hole = first.map((value, index) => (index === size ? merged : value));
  const moved = block.map((value, index) => (index === offset ? Number(first[offset]) + merged : value));
  rows.splice(at, 3, hole, moved);
  ledgers.largest_free_extent_bytes = Math.max(merged, Number(ledgers.largest_free_extent_bytes));
}

export function mergeHoles(incident: Incident): Incident {
  return withReceipt(incident, mergeIn, true);
}

function forge(receipt: Receipt): void {
  const { verdict, evidence } = receipt;
  if (verdict.numbers === null || verdict.hypotheses === null || evidence.ledgers === null) return;
  verdict.numbers.margin_bytes = evidence.ledgers.margin_bytes = Number(verdict.numbers.margin_bytes) + 2 ** 30;
  const own = verdict.hypotheses[verdict.primary ?? "fragmentation"];
  own.margin_bytes = Number(own.margin_bytes) + 2 ** 30;
}

export function forgeMargin(incident: Incident): Incident {
  return withReceipt(incident, forge, false);
}

export function forgeMarginAndDigests(incident: Incident): Incident {
  return withReceipt(incident, forge, true);
}

export function swapStatuses(incident: Incident): Incident {
  return withReceipt(
    incident,
    ({ verdict }) => {
      if (verdict.hypotheses === null) return;
      const { fragmentation, live_set } = verdict.hypotheses;
      [fragmentation.status, live_set.status] = [live_set.status, fragmentation.status];
    },
    true,
  );
}

export const kMutations: Mutation[] = [
  {
    id: "drop_block",
    title: "drop a block",
    means: "A recording that lost an allocation without saying so.",
    watch:
      "The allocator reports its own total with every event: one block less, and the sum of live blocks and that total part " +
      "ways. Two holes and the block between them look like one large hole, which the receipt does not have.",
    apply: dropBlock,
  },
  {
    id: "change_size",
    title: "halve a block's size",
    means: "A wrong number in one event.",
    watch: "The total again, and the map: behind the block lies a hole that the receipt does not have.",
    apply: changeSize,
  },
  {
    id: "merge_holes",
    title: "merge two holes",
    means: "A receipt whose map of the failure was made to look roomier. Its sums still add up and its digests were made anew.",
    watch: "Sums cannot tell: no byte is missing. The events can: the block between the two holes was born where it was born.",
    apply: mergeHoles,
  },
  {
    id: "hide_processes",
    title: "hide other processes",
    means: "A job without NVML: nobody said what other processes hold.",
    watch:
      "What others hold is now part of what nobody accounts for. Fragmentation, retention and live-set do not ask for it and " +
      "stand; external cannot be decided any more.",
    apply: hideProcesses,
  },
  {
    id: "hide_external_lane",
    title: "hide the whole external lane",
    means: "Neither NVML nor an answer of the driver: the card's size and its free bytes were never observed.",
    watch: "Without the card's size there is no available, no margin and no threshold: no hypothesis can be decided, and none is guessed.",
    apply: hideExternalLane,
  },
  {
    id: "at_the_peak",
    title: "judge the peak instead of the failure",
    means: "The common mistake: the verdict is asked of the highest point of the curve. Receipt and digests were made to agree with each other.",
    watch:
      "The receipt is consistent in itself, and wrong: at the failing instant the events have other numbers. At the peak the " +
      "request would still have fitted on the device.",
    apply: atThePeak,
  },
  {
    id: "forge_margin",
    title: "forge the margin",
    means: "One number of a receipt was changed, and nothing else.",
    watch: "The digest is of the text, so every change shows. And the margin is arithmetic: available less active less request.",
    apply: forgeMargin,
  },
  {
    id: "forge_margin_and_digests",
    title: "forge the margin and the digests",
    means: "The same by somebody who knows how digests are made.",
    watch:
      "A digest only says that a text is whole, never that it is true. The arithmetic still objects; memsnap-oracle, with the " +
      "ring, is the judge.",
    apply: forgeMarginAndDigests,
  },
  {
    id: "swap_statuses",
    title: "swap two statuses",
    means: "The cause was changed to another one and the digests were made anew.",
    watch: "Each status follows from its inequality by fixed rules: with these numbers it comes out as the other one.",
    apply: swapStatuses,
  },
];
