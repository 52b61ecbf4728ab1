// SPDX-License-Identifier: Apache-2.0
//
// Two incidents in pairs. The rule: differences are those of the numbers that are shown, so that columns and differences add up; what two
// recordings do not have in common is not matched by its ordinal.
import { plainText } from "../data/names";
import type { Frame, Incident, SiteName } from "../data/incident";
import type { Balance, Count, HypothesisName, HypothesisVerdict } from "../data/receipt";
import { hundredths, sizeText } from "../parts/units";
import type { Pattern } from "./palette";
import { allRows, isAlwaysShown, type SplitRow } from "./split";

export const kHypothesisNames: HypothesisName[] = ["live_set", "retention", "fragmentation", "external"];

export interface Pair<Value> {
  before: Value | null;
  after: Value | null;
}

type Amount = Count | bigint | null | undefined;

export function difference(before: Amount, after: Amount): bigint | null {
  return before === null || before === undefined || after === null || after === undefined ? null : BigInt(after) - BigInt(before);
}

export function hypothesisPairs(before: Incident, after: Incident): { name: HypothesisName; pair: Pair<HypothesisVerdict> }[] {
  const of = (incident: Incident, name: HypothesisName) => incident.receipt.verdict.hypotheses?.[name] ?? null;
  return kHypothesisNames.map((name) => ({ name, pair: { before: of(before, name), after: of(after, name) } }));
}

const kLedgers: [string, string][] = [
  ["total_bytes", "the card"],
  ["device_free_bytes", "free on the device"],
  ["reserved_bytes", "reserved"],
  ["allocated_bytes", "allocated"],
  ["active_bytes", "active"],
  ["outside_bytes", "outside PyTorch"],
  ["free_extent_bytes", "free inside segments"],
  ["largest_free_extent_bytes", "largest hole"],
  ["margin_bytes", "margin"],
  ["threshold_bytes", "threshold τ"],
];

export interface NumberRow {
  label: string;
  before: Count | null;
  after: Count | null;
  difference: bigint | null;
}

// Of the failing instants; a side that did not fail has none of them.
export function ledgerPairs(before: Incident, after: Incident): NumberRow[] {
  const [first, second] = [before.receipt.evidence, after.receipt.evidence];
  const row = (label: string, a: Count | null | undefined, b: Count | null | undefined): NumberRow => ({
    label,
    before: a ?? null,
    after: b ?? null,
    difference: difference(a, b),
  });
  const request = row(
    "the request",
    first.failure?.request_bytes ?? first.failure?.segment_request_bytes,
    second.failure?.request_bytes ?? second.failure?.segment_request_bytes,
  );
  return [request, ...kLedgers.map(([name, label]) => row(label, first.ledgers?.[name], second.ledgers?.[name]))].filter(
    (one) => one.before !== null || one.after !== null,
  );
}

// The balance that a side is judged by: at its failure, else at its end, of the device that failed on either side.
export function balanceOf(incident: Incident, device: number, instant: "last" | "peak"): Balance | null {
  const own = incident.receipt.evidence.holders.filter((one) => one.device === device);
  return own.find((one) => (instant === "peak" ? one.instant === "peak" : one.instant !== "peak")) ?? null;
}

export function failingDevice(before: Incident, after: Incident): number {
  return (
    before.receipt.evidence.failure?.device ?? after.receipt.evidence.failure?.device ?? before.outline.devices[0] ?? after.outline.devices[0] ?? 0
  );
}

export interface SplitPair {
  key: string;
  label: string;
  paint: string;
  pattern: Pattern;
  before: bigint | null; // hundredths of a GiB, as they are shown; null: not known
  after: bigint | null;
  difference: bigint | null; // of what is shown
  isWithin: boolean; // told of a part that another row has in it: not summed
}

// A library that is not on a side holds nothing there; every other part has a row on both.
const shownHundredths = (row: SplitRow | undefined): bigint | null => {
  const column = row?.columns[0];
  if (column === undefined) return 0n;
  return column.bytes === null ? null : BigInt(column.shown.replace("−", "-").replace(".", ""));
};

const plus = (a: bigint | null, b: bigint | null) => (a === null || b === null ? null : a + b);

// Where one side alone knows what other processes hold, the residual of the other side has it in it: only both together can be compared.
function withOthersInResidual(pairs: SplitPair[], before: Balance, after: Balance): SplitPair[] {
  const [a, b] = [before.others_bytes, after.others_bytes];
  if ((a === null) === (b === null)) return pairs;
  const others = pairs.find((pair) => pair.key === "others")!;
  const both = (residual: bigint | null, told: bigint | null) => (told === null ? residual : plus(residual, told));
  return pairs.flatMap((pair) => {
    if (pair.key === "others") return [];
    if (pair.key !== "residual") return [pair];
    const [was, is] = [both(pair.before, others.before), both(pair.after, others.after)];
    const joined = { ...pair, label: "context, modules, other processes", before: was, after: is, difference: difference(was, is) };
    return [joined, { ...others, label: "of it other processes", difference: null, isWithin: true }];
  });
}

// A library's ordinal means something in its own recording only: two are the same by name.
function keyOf(row: SplitRow, side: string): string {
  return row.key.startsWith("library-") ? (/^library \d+$/.test(row.label) ? `${side} ${row.key}` : `library ${row.label}`) : row.key;
}

export function splitPairs(before: Incident, a: Balance, after: Incident, b: Balance): SplitPair[] {
  const [first, second] = [allRows(before, [a]), allRows(after, [b])];
  const named = (rows: SplitRow[], side: string) => new Map(rows.map((row) => [keyOf(row, side), row]));
  const [left, right] = [named(first, "before"), named(second, "after")];
  const keys = [...new Set([...left.keys(), ...right.keys()])];
  // Parts that one side alone has stand before the free part, which is the last of both.
  keys.sort((x, y) => Number(x === "free") - Number(y === "free"));
  const pairs = keys.map((key): SplitPair => {
    const row = (left.get(key) ?? right.get(key))!;
    const [was, is] = [shownHundredths(left.get(key)), shownHundredths(right.get(key))];
    const only = key.startsWith("before ") ? " (BEFORE)" : key.startsWith("after ") ? " (AFTER)" : "";
    return {
      key,
      label: row.label + only,
      paint: row.paint,
      pattern: row.pattern,
      before: was,
      after: is,
      difference: difference(was, is),
      isWithin: false,
    };
  });
  const told = (row: SplitRow | undefined) => row !== undefined && (row.columns[0].bytes ?? 0n) !== 0n;
  return withOthersInResidual(pairs, a, b).filter(({ key }) => isAlwaysShown(key) || told(left.get(key)) || told(right.get(key)));
}

// Of a whole: what is known of its parts.
export function sumOf(pairs: SplitPair[], side: "before" | "after"): bigint {
  return pairs.reduce((sum, pair) => sum + (pair.isWithin ? 0n : (pair[side] ?? 0n)), 0n);
}

// Null where a part is known on one side only: the sums are not of the same then.
export function sumOfDifferences(pairs: SplitPair[]): bigint | null {
  const known = pairs.filter((pair) => !pair.isWithin && (pair.before !== null || pair.after !== null));
  return known.reduce((sum: bigint | null, pair) => plus(sum, pair.difference), 0n);
}

export function cardHundredths(balance: Balance): bigint | null {
  return balance.total_bytes === null ? null : hundredths(BigInt(balance.total_bytes));
}

export type Matched = "names" | "key" | "same_ring" | "nothing";

export interface SitePair {
  label: string;
  before: Count | null; // null: the site is not on this side
  after: Count | null;
  difference: bigint | null; // null: what it would be matched by is not known
}

export interface SiteComparison {
  matched: Matched; // by what sites of the two are the same
  rows: SitePair[];
}

interface Held {
  site: number;
  bytes: Count;
}

// Live bytes by site at the failure, else at the peak.
function heldBy(incident: Incident, device: number): Held[] {
  const { sites, peak_sites } = incident.receipt.evidence as { sites: Held[] | null; peak_sites?: { device: number; rows: Held[] }[] };
  return sites ?? peak_sites?.find((one) => one.device === device)?.rows ?? [];
}

interface Known {
  entry: SiteName | undefined;
  scope: string;
}

function knownSites(incident: Incident): Map<number, Known> {
  const entries = new Map(incident.names.sites.map((entry) => [entry.site, entry]));
  const scopes = new Map(((incident.receipt.dictionary.sites ?? []) as { site: number; scope: string }[]).map((one) => [one.site, one.scope]));
  return new Map(
    [...new Set([...entries.keys(), ...scopes.keys()])].map((site) => [site, { entry: entries.get(site), scope: scopes.get(site) ?? "ring" }]),
  );
}

const isNamed = (frame: Frame) => frame.function !== undefined || frame.file !== undefined;

function framesKey(incident: Incident, entry: SiteName): string | null {
  const frames = (entry.frames ?? []).map((index) => incident.names.frames[index]);
  if (frames.length === 0 || !frames.every(isNamed)) return null;
  return JSON.stringify(frames.map((frame) => [frame.function ?? "", frame.file ?? "", frame.line ?? 0]));
}

function labelOf(entry: SiteName | undefined, site: number): string {
  if (entry?.label !== undefined && entry.label !== "") return plainText(entry.label);
  if (entry?.size_bytes !== undefined) return `blocks of ${sizeText(entry.size_bytes)}`;
  return entry?.token ?? `site ${site}`;
}

function tokensOf(incident: Incident, scope: "key" | "ring"): Set<string> {
  const tokens = (incident.receipt.dictionary.sites ?? []) as { token: string; scope?: string }[];
  return new Set(tokens.filter((one) => (one.scope ?? "ring") === scope).map((one) => one.token));
}

// A page that may hold names has none without a sidecar.
function namesFrames({ names }: Incident): boolean {
  return names.sites.some((entry) => entry.frames?.some((index) => isNamed(names.frames[index])));
}

// One ring always gives the same tokens, rings of one key too; any other two have none in common.
export function matchedBy(before: Incident, after: Incident): Matched {
  if (namesFrames(before) && namesFrames(after)) return "names";
  const common = (scope: "key" | "ring") => {
    const other = tokensOf(after, scope);
    return [...tokensOf(before, scope)].some((token) => other.has(token));
  };
  return common("key") ? "key" : common("ring") ? "same_ring" : "nothing";
}

// Null: nothing is known that the other side could have too.
function keyOfSite(incident: Incident, matched: Matched, known: Known | undefined): string | null {
  const entry = known?.entry;
  if (entry?.size_bytes !== undefined) return `size ${entry.size_bytes}`;
  if (matched === "names" && entry !== undefined) {
    const frames = framesKey(incident, entry);
    if (frames !== null) return frames;
  }
  const shared = (matched === "key" && known?.scope === "key") || matched === "same_ring";
  return shared && entry?.token !== undefined ? entry.token : null;
}

export function siteComparison(before: Incident, after: Incident, device: number): SiteComparison {
  const matched = matchedBy(before, after);
  const rows = new Map<string, SitePair>();
  for (const [side, incident] of [
    ["before", before],
    ["after", after],
  ] as const) {
    const known = knownSites(incident);
    for (const held of heldBy(incident, device)) {
      const found = known.get(held.site);
      const shared = keyOfSite(incident, matched, found);
      const key = shared ?? `${side} ${held.site}`;
      const row = rows.get(key) ?? { label: labelOf(found?.entry, held.site), before: null, after: null, difference: shared === null ? null : 0n };
      row[side] = row[side] === null ? held.bytes : String(BigInt(row[side]) + BigInt(held.bytes));
      rows.set(key, row);
    }
  }
  for (const row of rows.values()) if (row.difference !== null) row.difference = BigInt(row.after ?? 0) - BigInt(row.before ?? 0);
  const size = (value: bigint) => (value < 0n ? -value : value);
  const most = (row: SitePair) => BigInt(row.before ?? 0) + BigInt(row.after ?? 0);
  const order = (x: bigint, y: bigint) => (x === y ? 0 : x > y ? -1 : 1);
  const moved = (row: SitePair) => size(row.difference ?? most(row));
  return { matched, rows: [...rows.values()].sort((a, b) => order(moved(a), moved(b)) || order(most(a), most(b))) };
}
