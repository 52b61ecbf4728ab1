// SPDX-License-Identifier: Apache-2.0
//
// The rules of VERDICT.md §12 that need no table, over `begin` and `events`. The rule: what the page counts must be what the receipt says was
// tolerated; a recording that breaks a rule without a declared loss has no page.
import { agrees, differs, notRecomputed, type Check, type Result, type Subject } from "./check";
import { PlaceMap, type Range } from "./place_map";
import { kCapturing, kFromTorch, kImported, kNested, reachOf, type Rows } from "./rows";
import { kCorruptRequest_bytes, kGranule_bytes } from "./thresholds";

const kRules = {
  order: "events stand in ticket order, and the missing tickets are the missing ones that are declared",
  block_size: "a block's size is a multiple of 512 bytes, above 0 and below 2^60",
  block_live_twice: "no block is allocated where one is live",
  block_overlap: "no block is allocated on a range that is not free",
  block_outside_segment: "no block ends beyond the region it starts in",
  free_unmatched: "every freed block is live",
  free_mismatch: "every freed block has the size, device and birth it was allocated with",
  totals_allocated: "the allocator's own allocated total moves as the live blocks do",
  totals_reserved: "the allocator never reports less reserved than allocated",
  segment_overlap: "no region lies on an older one",
} as const;
type Rule = keyof typeof kRules;

const kNotInThePage: readonly (readonly [string, string])[] = [
  ["link_order", "the page holds the birth that a free was matched with, not the one that it named"],
  ["record_check", "checks of records are not in the page"],
  ["record_order", "slots of records are not in the page"],
  ["birth_missing", "birth records are not in the page"],
  [
    "table_end",
    "the live table is not in the page, so none of the rules about it (table_check, table_duplicate, table_birth, table_death, table_lag, table_end)",
  ],
  ["object_unmatched", "objects below the caching allocator without a place are not in the page (object_unmatched, object_end)"],
];

interface Block {
  device: number | null;
  size: number;
  ticket: number | null;
}

interface Region {
  device: number | null;
  joins: boolean; // a mapping of PyTorch's allocator: contiguous ones are one segment
}

const kRegionObjects = new Set(["device", "mapping", "async"]);

class Walk {
  readonly broken = new Map<Rule, number[]>(); // rows
  private readonly blocks = new PlaceMap<Block>();
  private readonly regions = new PlaceMap<Region>();
  private readonly regionOf = new Map<number, Range<Region>>(); // by birth ticket
  private readonly ended = new Map<number, Range<Region>>(); // of frees that may turn out refused
  private readonly live = new Map<number, number>(); // bytes by device
  private readonly apart = new Map<number, number>(); // reported less live, by device

  constructor(
    private readonly rows: Rows,
    subject: Subject,
    private readonly fromTheBegin: boolean,
  ) {
    const { begin } = subject.incident;
    const column = (name: string) => begin.column(name);
    const [state, device, place, size, ticket, object] = ["state", "device", "place_bytes", "size_bytes", "allocation", "object"].map(column);
    for (let row = 0; row < begin.rows; ++row) {
      const at = place.at(row);
      const bytes = size.at(row);
      if (at === null || bytes === null) continue;
      if (state.text(row) === "block")
        this.enter(device.at(row), { place: at, end: at + bytes, value: { device: device.at(row), size: bytes, ticket: ticket.at(row) } });
      if (!["segment", "candidate", "direct", "foreign"].includes(state.text(row))) continue;
      const joins = object.text(row) === "mapping" && state.text(row) !== "foreign";
      this.addRegion({ place: at, end: at + bytes, value: { device: device.at(row), joins } }, ticket.at(row));
    }
  }

  step(row: number) {
    const { rows } = this;
    let sound = true;
    const breaks = (rule: Rule) => {
      sound = false;
      this.note(rule, row);
    };
    switch (rows.kind(row)) {
      case "block_alloc":
      case "initial":
        this.allocate(row, breaks);
        break;
      case "block_free":
        this.free(row, breaks);
        break;
      default:
        this.region(row);
    }
    if (rows.isReport(row)) this.compareTotals(row, sound);
  }

  private note(rule: Rule, row: number) {
    const list = this.broken.get(rule);
    if (list === undefined) this.broken.set(rule, [row]);
    else list.push(row);
  }

  private enter(device: number | null, range: Range<Block>) {
    if (device !== null) this.live.set(device, (this.live.get(device) ?? 0) + range.value.size);
    this.blocks.add(range);
  }

  private leave(range: Range<Block>) {
    const { device, size } = range.value;
    if (device !== null) this.live.set(device, (this.live.get(device) ?? 0) - size);
    this.blocks.remove(range);
  }

  private allocate(row: number, breaks: (rule: Rule) => void) {
    const place = this.rows.of("place_bytes", row);
    const size = this.rows.of("size_bytes", row);
    if (size === null || size <= 0 || size % kGranule_bytes !== 0 || size >= Number(kCorruptRequest_bytes)) breaks("block_size");
    if (place === null || size === null) return;
    const others = this.blocks.overlapping(place, place + size);
    if (others.some((other) => other.place === place)) breaks("block_live_twice");
    if (others.some((other) => other.place !== place)) breaks("block_overlap");
    for (const other of others) this.leave(other);
    const device = this.rows.of("device", row);
    this.enter(device, { place, end: place + size, value: { device, size, ticket: this.rows.of("ticket", row) } });
    const region = this.regions.before(place);
    if (region !== null && region.end > place && place + size > this.endOf(region)) breaks("block_outside_segment");
  }

  // Of the segment: mappings that follow each other are one.
  private endOf(region: Range<Region>): number {
    let end = region.end;
    for (
      let next = region.value.joins ? this.regions.before(end) : null;
      next !== null && next.place === end && next.end > end;
      next = this.regions.before(end)
    ) {
      if (!next.value.joins || next.value.device !== region.value.device) break;
      end = next.end;
    }
    return end;
  }

  private free(row: number, breaks: (rule: Rule) => void) {
    const place = this.rows.of("place_bytes", row);
    if (place === null) return breaks("free_unmatched");
    const there = this.blocks.before(place);
    if (there === null || there.place !== place) return breaks("free_unmatched");
    const birth = this.rows.of("allocation", row);
    const other = birth !== null && there.value.ticket !== null && birth !== there.value.ticket;
    if (there.value.size !== this.rows.of("size_bytes", row) || there.value.device !== this.rows.of("device", row) || other) breaks("free_mismatch");
    this.leave(there);
  }

  private addRegion(range: Range<Region>, ticket: number | null) {
    for (const other of this.regions.overlapping(range.place, range.end)) this.regions.remove(other);
    this.regions.add(range);
    if (ticket !== null) this.regionOf.set(ticket, range);
  }

  private region(row: number) {
    const { rows } = this;
    const kind = rows.kind(row);
    const ticket = rows.of("allocation", row);
    if (rows.has(row, kNested | kCapturing)) return;
    if (kind === "ok" || kind === "initial_segment") {
      const [place, size] = [rows.of("place_bytes", row), rows.of("size_bytes", row)];
      const object = rows.object(row);
      const counts = kRegionObjects.has(object) && !rows.has(row, kImported) && (object !== "async" || rows.has(row, kFromTorch));
      if (!counts || place === null || size === null || size === 0 || ticket !== rows.of("ticket", row)) return;
      const range = { place, end: place + size, value: { device: rows.of("device", row), joins: object === "mapping" && rows.has(row, kFromTorch) } };
      if (this.regions.overlapping(range.place, range.end).length > 0) this.note("segment_overlap", row);
      this.addRegion(range, ticket);
    } else if (kind === "free" && ticket !== null) {
      const range = this.regionOf.get(ticket);
      if (range !== undefined && this.regions.remove(range)) this.ended.set(ticket, range);
    } else if (kind === "free_fail" && ticket !== null) {
      const range = this.ended.get(ticket);
      if (range !== undefined && this.regions.overlapping(range.place, range.end).length === 0) this.regions.add(range);
    }
  }

  private compareTotals(row: number, sound: boolean) {
    const device = this.rows.of("device", row) ?? -1;
    const allocated = this.rows.of("allocated_bytes", row)!;
    const apart = allocated - (this.live.get(device) ?? 0);
    // In the middle of a window the first report only says how far the two were apart before.
    const before = this.apart.get(device) ?? (this.fromTheBegin ? 0 : apart);
    if (apart !== before && sound) this.note("totals_allocated", row);
    this.apart.set(device, apart);
    if (this.rows.of("reserved_bytes", row)! < allocated) this.note("totals_reserved", row);
  }
}

async function orderResult(subject: Subject, wholeWindow: boolean): Promise<Result> {
  const { rows, pace, incident } = subject;
  const { window } = incident.outline;
  let last = window.exact_first_ticket - 1;
  for (let row = 0; row < rows.count; ++row) {
    if ((row & 4095) === 0) await pace.breathe();
    const ticket = rows.of("ticket", row)!;
    if (ticket <= last || ticket >= window.end_ticket) return differs("ticket", ticket, `after ${last}`, rows.at(row));
    last = ticket;
  }
  if (!wholeWindow || window.keyframe) return agrees(rows.count);
  const { missing_count, unknown_kind_count } = incident.receipt.capture;
  const missing = window.end_ticket - window.first_ticket - rows.count;
  const declared = Number(missing_count) + Number(unknown_kind_count);
  return missing === declared ? agrees(rows.count + 1) : differs("capture.missing_count and unknown_kind_count", missing, declared);
}

export async function ruleChecks(subject: Subject): Promise<Check[]> {
  const { incident, pace, rows } = subject;
  const { wholeWindow } = reachOf(incident);
  const { window } = incident.outline;
  const walk = new Walk(rows, subject, window.exact_first_ticket === window.first_ticket);
  for (let row = 0; row < rows.count; ++row) {
    if ((row & 1023) === 0) await pace.breathe();
    walk.step(row);
  }
  const order = await orderResult(subject, wholeWindow);
  const tolerated = incident.receipt.capture.tolerated as Record<string, number>;
  const result = (rule: Rule): Result => {
    if (rule === "order") return order;
    const found = walk.broken.get(rule) ?? [];
    const declared = Number(tolerated[rule] ?? 0);
    if (rule === "free_mismatch" && found.length < declared) return notRecomputed("the birth that a free named is not in the page");
    if (!wholeWindow || window.keyframe) {
      if (found.length <= declared)
        return declared === 0 ? agrees(rows.count) : notRecomputed("it was broken, and the page holds a part of the events only");
    } else if (found.length === declared) return agrees(rows.count);
    return differs(rule, `broken ${found.length} times`, `broken ${declared} times`, found.length > 0 ? rows.at(found[0]) : null);
  };
  const from = "begin and events";
  return [
    ...(Object.keys(kRules) as Rule[]).map((rule): Check => ({
      id: `rules.${rule}`,
      group: "rules",
      title: kRules[rule],
      from,
      result: result(rule),
    })),
    ...kNotInThePage.map(([rule, why]): Check => ({ id: `rules.${rule}`, group: "rules", title: `rule ${rule}`, from, result: notRecomputed(why) })),
  ];
}
