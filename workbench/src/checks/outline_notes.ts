// SPDX-License-Identifier: Apache-2.0
//
// The notes that a page has at its top (replay/page_outline.cpp), made again from the receipt, the levels and the window. The rule: in the page's
// order; one that cannot be made again counts only when it is of a form that such notes have.
import type { Incident } from "../data/incident";
import type { Count } from "../data/receipt";
import { big, counted, grouped } from "../parts/units";

interface Stacks {
  wish: string;
  python: string;
  native: string;
}

const kOrigins: Record<string, string> = {
  torch_snapshot: "from a memory snapshot of PyTorch's: what other libraries and processes hold is not in it",
  profiler_trace: "from a trace of PyTorch's profiler: what other libraries and processes hold is not in it",
  unknown: "not from memsnap's recorder, but from a program that is not known here",
};
const kUncertain: readonly (readonly [string, string])[] = [
  ["late_start", "recording began in a running process: what was there is told in part"],
  ["table_incomplete", "the table of what is live was full for some time"],
  ["copied_while_written", "the file was copied while the job wrote it"],
  ["recording_dormant", "no ring was kept: the recorder was in standby"],
];
const kSampling: Record<string, string> = {
  off: "NVML was switched off: nothing tells of other processes",
  nvml_missing: "NVML was not found: nothing tells of other processes",
  nvml_failed: "NVML refused: nothing tells of other processes",
};
const kBlind = ["deepbind", "dlmopen", "unknown_entry_point", "resolver_bypassed", "original_missing"];
const kNoFrames: Record<string, string> = {
  unknown: "no Python frames: this interpreter is not known well enough",
  threaded: "no Python frames: this interpreter is built without a global lock",
};
// Of the file of names, and of what a keyframe's own window lacks: no receipt has them.
const kUnmade =
  /^libraries go by number: the file of names beside the recording (is [a-z ]{6,15}|has another version|belongs to another \w{9}|cannot be read)$/;
const kOfWindow = /^([0-9,]+ events are|1 event is) (missing in the window, [0-9,]+ of them torn|of kinds that this build does not know left out)$/;
const kByHand = /^Changed by hand: /; // the lesson's own

const several = (count: bigint) => (count === 1n ? "1 event is" : `${grouped(count)} events are`);

function extentNotes({ outline, levels }: Incident): string[] {
  const { window, devices } = outline;
  const notes: string[] = [];
  if (window.keyframe) {
    notes.push(`the ring does not hold the failing instant: these are the ${counted(window.event_count, "event")} that were kept with it`);
  }
  if (window.exact_event_count < window.event_count) {
    const first = levels.column("first_ticket");
    const runs = new Set(Array.from({ length: levels.rows }, (_, row) => first.number(row))).size;
    notes.push(
      `of ${counted(window.event_count, "event")} ${grouped(window.exact_event_count)} are here one by one, from event ` +
        `${window.exact_first_ticket} on; all of them are summed up in ${counted(runs, "run")}, ` +
        "with the least, the greatest and the last value of each",
    );
  }
  if (!window.keyframe && window.first_ticket !== 0) {
    notes.push(`events before ${window.first_ticket} are not in the ring, and what was live then is known`);
  }
  if (devices.length > 1) notes.push(`${devices.length} cards: each has lanes and a map of its own`);
  return notes;
}

function lossNotes({ outline, receipt }: Incident): string[] {
  const { capture } = receipt;
  const count = (name: string) => big(capture[name] as Count);
  const notes: string[] = [];
  if (!outline.window.keyframe) {
    const [missing, unknown] = [count("missing_count"), count("unknown_kind_count")];
    if (missing !== 0n) notes.push(`${several(missing)} missing in the window, ${grouped(count("torn_count"))} of them torn`);
    if (unknown !== 0n) notes.push(`${several(unknown)} of kinds that this build does not know left out`);
  }
  if (count("lost_count") !== 0n) notes.push(`the recorder had no place for ${counted(count("lost_count"), "event")}`);
  const uncertain = capture.uncertain as string[];
  notes.push(...kUncertain.filter(([word]) => uncertain.includes(word)).map(([, sentence]) => sentence));
  const tolerated = Object.values(capture.tolerated as Record<string, Count>).reduce((sum, one) => sum + big(one), 0n);
  if (tolerated !== 0n) {
    const them = tolerated === 1n ? "it" : "them";
    notes.push(`${several(tolerated)} at odds with the state before ${them}, and tolerated: a loss was declared, or the driver alone is concerned`);
  }
  return notes;
}

function observationNotes({ outline, receipt, levels }: Incident): string[] {
  const { capture } = receipt;
  const notes = outline.clock ? [] : ["times are not known: the axis is the order of events"];
  const known = new Set<number>();
  for (let row = 0; row < levels.rows; ++row) {
    if (levels.column("used_least").filled(row)) known.add(levels.column("device").number(row));
  }
  for (const device of outline.devices) {
    if (!known.has(device)) notes.push(`no answer in the window tells what is free on cuda:${device}: what the device used is not known`);
  }
  const sampling = kSampling[capture.sampling as string];
  if (sampling !== undefined) notes.push(sampling);
  const blind = capture.blind as Record<string, Count>;
  const reasons = kBlind.filter((name) => big(blind[name] ?? 0) !== 0n).map((name) => `${name} (${blind[name]})`);
  if (reasons.length > 0) notes.push(`not hooked: ${reasons.join(", ")}`);
  const stacks = capture.stacks as Stacks;
  if (stacks.wish === "off") return notes;
  if (kNoFrames[stacks.python] !== undefined) notes.push(kNoFrames[stacks.python]);
  if (stacks.native === "missing") notes.push("no native frames: libunwind was not found");
  const without = big(capture.no_stack_count as Count);
  if (without !== 0n) notes.push(`${counted(without, "birth")} of the recording ${without === 1n ? "has" : "have"} no site`);
  return notes;
}

export function expectedNotes(incident: Incident): { expected: string[]; told: string[] } {
  const { outline, receipt } = incident;
  const expected: string[] = [];
  const origin = kOrigins[receipt.capture.origin as string];
  if (origin !== undefined) expected.push(origin);
  if (receipt.capture.total_stated === true) expected.push("the card's size was stated by whoever asked, and observed by nobody");
  expected.push(...extentNotes(incident), ...lossNotes(incident), ...observationNotes(incident));
  const left = (note: string) =>
    kUnmade.test(note) || (outline.window.keyframe && kOfWindow.test(note)) || (outline.synthetic && kByHand.test(note));
  return { expected, told: outline.notes.filter((note) => !left(note)) };
}
