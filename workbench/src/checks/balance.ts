// SPDX-License-Identifier: Apache-2.0
//
// Who holds the card (VERDICT.md §3, "balance"), at the instants that the receipt tells. The rule: what the allocator holds and what is the
// process's own come from the history at the instant; the rest from the failure's own answer, or from the anchor's.
import type { Balance } from "../data/receipt";
import { beganLate } from "../history/before";
import { Comparison, notRecomputed, type Check, type Result, type Subject } from "./check";
import type { Failing } from "./failing";
import { outsideAt } from "./outside";
import { reachOf, type Rows } from "./rows";
import { extentsOf, sumsOf } from "./scene_extents";

interface Split {
  source: string;
  total: number | null;
  active: number;
  reusable: number;
  fragmented: number;
  incompatible: number;
  libraries: Map<number, number>;
  others: number | null;
  unattributed: number | null;
  free: number | null;
}

const lanesKnown = (value: number) => (Number.isNaN(value) ? null : value);

function othersAt(rows: Rows, samples: readonly number[], row: number): number | null {
  const before = samples.filter((sample) => sample <= row).pop();
  const sample = before ?? samples[0];
  return sample === undefined ? null : rows.of("others_bytes", sample);
}

// Of the instant alone. After a late start blocks that nobody saw are active; NaN: the last report before the instant is not in the page.
function splitAt(subject: Subject, device: number, row: number, request: number | null): Split {
  const { history } = subject;
  const scene = history.scene(device, row);
  const asked = { size_bytes: request ?? 0, stream: null, pool: null, privatePools: false };
  const sums = sumsOf(extentsOf(history, scene, asked), asked.size_bytes);
  const unseen = beganLate(subject.incident) ? history.laneAt(device, "unseen_allocated", row) : 0;
  const active = scene.activeBytes + scene.directBytes + unseen;
  const reusable = sums.reusable + (request === null ? sums.incompatible : 0);
  const incompatible = request === null ? 0 : sums.incompatible;
  const held = history.laneAt(device, "reserved", row);
  return {
    source: "unknown",
    total: null,
    active,
    reusable,
    incompatible,
    fragmented: held - active - reusable - incompatible,
    libraries: history.outsideByLibrary(device, row),
    others: null,
    unattributed: null,
    free: null,
  };
}

const own = (split: Split) => [...split.libraries.values()].reduce((sum, bytes) => sum + bytes, 0);
const held = (split: Split) => split.active + split.reusable + split.fragmented + split.incompatible;

function attributeByAnchor(subject: Subject, rows: Rows, device: number, row: number, limit: number, split: Split) {
  const { history } = subject;
  const ofDevice = (...kinds: string[]) => rows.ofKinds(...kinds).filter((at) => at <= limit && rows.of("device", at) === device);
  const observations = ofDevice("mem_info", "device_sample").filter((at) => rows.tellsOutside(at));
  const samples = ofDevice("process_sample").filter((at) => rows.of("others_bytes", at) !== null);
  split.others = othersAt(rows, samples, row);
  const anchor = observations.filter((at) => at <= row).pop() ?? observations[0];
  if (anchor === undefined) return;
  split.source = anchor === row ? "observed" : anchor < row ? "carried" : "carried_back";
  split.total = rows.of("device_total_bytes", anchor)!;
  const residual =
    split.total - rows.of("device_free_bytes", anchor)! - history.laneAt(device, "reserved", anchor) - history.laneAt(device, "own_outside", anchor);
  split.unattributed = residual - (othersAt(rows, samples, anchor) ?? 0);
  split.free = split.total - held(split) - own(split) - (split.others ?? 0) - split.unattributed;
}

// At the failing instant, when what was free was observed: the failure's own numbers.
function atFailure(subject: Subject, failing: Failing): Split | null {
  const outside = outsideAt(subject.history, failing);
  const { sums } = failing;
  const split: Split = {
    source: "observed",
    total: outside.total,
    active: failing.active,
    reusable: sums.reusable,
    incompatible: sums.incompatible,
    fragmented: failing.reserved - failing.active - sums.reusable - sums.incompatible,
    libraries: subject.history.outsideByLibrary(failing.device, failing.row),
    others: outside.others,
    unattributed: null,
    free: outside.free,
  };
  if (split.free === null) return null;
  if (split.total !== null) split.unattributed = split.total - held(split) - own(split) - (split.others ?? 0) - split.free;
  return split;
}

function balanceResult(subject: Subject, rows: Rows, failing: Failing | null, told: Balance, index: number): Result {
  const { history, incident } = subject;
  const { window } = incident.outline;
  const ticket = Number(told.ticket);
  if (ticket < window.exact_first_ticket && !(ticket === window.first_ticket && window.exact_first_ticket === window.first_ticket))
    return notRecomputed("its instant is not in the page");
  const reach = reachOf(incident);
  const isFailing = failing !== null && failing.ticket === ticket;
  const limit = failing?.row ?? rows.count - 1;
  // A peak that no event made is before the window's first event.
  const peak = told.instant === "peak" ? history.peakRow(told.device) : null;
  const row = isFailing ? failing.row : (peak ?? history.rowOf(ticket));
  const compared = new Comparison();
  const member = (name: string) => `evidence.holders[${index}].${name}`;
  const at = row >= 0 ? rows.at(row) : null;
  if (!isFailing && peak !== null) compared.same(member("ticket"), peak < 0 ? window.first_ticket : rows.of("ticket", peak), ticket, at);
  let split = isFailing ? atFailure(subject, failing) : null;
  if (split === null) {
    split = splitAt(subject, told.device, row, failing?.asked.size_bytes ?? null);
    if (isFailing) {
      Object.assign(split, { active: failing.active, reusable: failing.sums.reusable, incompatible: failing.sums.incompatible });
      split.fragmented = failing.reserved - failing.active - failing.sums.reusable - failing.sums.incompatible;
    }
    attributeByAnchor(subject, rows, told.device, row, limit, split);
  }
  const taken: [string, unknown, unknown][] = [
    ["active_bytes", split.active, told.active_bytes],
    ["fragmented_free_bytes", lanesKnown(split.fragmented), told.fragmented_free_bytes],
  ];
  const inPage: [string, unknown, unknown][] = [
    ...(Number.isNaN(split.active) ? [] : taken),
    ["reusable_free_bytes", split.reusable, told.reusable_free_bytes],
    ["incompatible_free_bytes", split.incompatible, told.incompatible_free_bytes],
    [
      "libraries",
      [...split.libraries]
        .filter(([, bytes]) => bytes !== 0)
        .map(([library, bytes]) => `${library}: ${bytes}`)
        .sort(),
      told.libraries
        .filter((one) => String(one.bytes) !== "0")
        .map((one) => `${one.library}: ${one.bytes}`)
        .sort(),
    ],
  ];
  // What was observed before the page's first event stands in no row.
  const carried: [string, unknown, unknown][] = [
    ["source", split.source, told.source],
    ["total_bytes", split.total, told.total_bytes],
    ["others_bytes", split.others, told.others_bytes],
    ["unattributed_bytes", split.unattributed, told.unattributed_bytes],
    ["free_bytes", split.free, told.free_bytes],
  ];
  for (const [name, value, stated] of reach.fromBirth ? [...inPage, ...carried] : inPage) compared.same(member(name), value, stated, at);
  return compared.result();
}

export function balanceChecks(subject: Subject, failing: Failing | null): Check[] {
  const { receipt } = subject.incident;
  const { rows } = subject;
  const from = "the page's history at the instant, and what the device and other processes answered";
  return receipt.evidence.holders.map((told, index): Check => ({
    id: `balance.${told.device}.${told.instant}`,
    group: "balance",
    title: `who holds device ${told.device} at the ${told.instant}`,
    from,
    result:
      receipt.evidence.failure !== null && failing === null
        ? notRecomputed("the failure's own event is not in the page")
        : balanceResult(subject, rows, failing, told, index),
  }));
}
