// SPDX-License-Identifier: Apache-2.0
//
// How the card is split at an instant, as rows of a sum. The rule: rows of several columns stand in one order, and each column is rounded so that
// what is shown adds up to the card (units.ts).
import type { Incident } from "../data/incident";
import type { Balance } from "../data/receipt";
import { beganLate } from "../history/before";
import { hundredthsOfParts, hundredthsText, sizeText, type Count } from "../parts/units";
import { libraryName, patternOf, type Pattern } from "./palette";

// A balance as the receipt has it, or as the page computed it.
export interface Split extends Omit<Balance, "device" | "ticket" | "instant" | "reusable_free_bytes" | "incompatible_free_bytes"> {
  before_bytes?: Count | null; // from before the recording, in no block: null: not known; a receipt does not tell it apart
  reusable_free_bytes: Count | null; // null: some of the free extents are taken, and nobody knows which
  incompatible_free_bytes: Count | null;
}

export interface SplitRow {
  key: string;
  paint: string; // a custom property
  pattern: Pattern;
  label: string;
  note: string;
  residual: boolean;
  columns: { bytes: bigint | null; shown: string }[]; // one a balance; null: not known
}

export function libraryLabel(incident: Incident, ordinal: number): string {
  if (ordinal === 0) return "unknown library";
  const told = incident.names.libraries.find((one) => one.library === ordinal);
  return told?.name ?? `library ${ordinal}`;
}

interface Part {
  key: string;
  paint: string;
  pattern: Pattern;
  label: string;
  note: string;
  residual?: boolean;
  of: (split: Split) => Count | null | undefined; // undefined: another part has it in it
}

export const kBeforeLabel = "before recording";

function fragmentedNote(request: Count | null, late: boolean, holesKnown: boolean): string {
  if (!holesKnown) return "free: where is not known";
  if (request === null) return "in segments nobody saw";
  return `free, in holes below ${sizeText(request)}${late ? " or in segments nobody saw" : ""}`;
}

function partsOf(incident: Incident, splits: Split[]): Part[] {
  const { failure } = incident.receipt.evidence;
  const request = failure?.request_bytes ?? failure?.segment_request_bytes ?? null;
  const observed = splits[0]?.source === "observed";
  const othersKnown = splits.some((split) => split.others_bytes !== null);
  const holesKnown = splits.every((split) => split.reusable_free_bytes !== null);
  const libraries = new Map<number, number>();
  for (const split of splits)
    for (const held of split.libraries) libraries.set(held.library, Math.max(libraries.get(held.library) ?? 0, Number(held.bytes)));
  const part = (key: string, paint: Parameters<typeof patternOf>[0], label: string, note: string, of: Part["of"], residual = false): Part => ({
    key,
    paint,
    pattern: patternOf(paint),
    label,
    note,
    of,
    residual,
  });
  return [
    part("active", "active", "active", "tensors in use", (split) => split.active_bytes),
    ...(beganLate(incident) ? [part("before", "before", kBeforeLabel, "tensors that nobody saw: of no site", (split) => split.before_bytes)] : []),
    part("fragmented", "fragmented", "fragmented", fragmentedNote(request, beganLate(incident), holesKnown), (split) => split.fragmented_free_bytes),
    part(
      "reusable",
      "reusable",
      "reusable",
      request === null ? "free, in PyTorch's segments" : "free, in holes that may fit",
      (split) => split.reusable_free_bytes,
    ),
    part("incompatible", "incompatible", "incompatible", "free, in other pools or classes", (split) => split.incompatible_free_bytes),
    ...[...libraries]
      .sort((a, b) => b[1] - a[1])
      .map(([library]): Part => ({
        key: `library-${library}`,
        paint: libraryName(library),
        pattern: patternOf("library"),
        label: libraryLabel(incident, library),
        note: "of this process",
        of: (split) => split.libraries.find((held) => held.library === library)?.bytes ?? 0,
      })),
    part(
      "residual",
      "residual",
      othersKnown ? "context, modules" : "context, neighbours",
      othersKnown ? "residual" : "residual: nobody told of others",
      (split) => split.unattributed_bytes,
      true,
    ),
    part("others", "others", "other processes", "by the last sample", (split) => split.others_bytes),
    part("free", "free", "free", observed ? "on the device" : "residual: not asked then", (split) => split.free_bytes, !observed),
  ];
}

const kNotKnown = "not known";

function shownColumn(values: (bigint | null | undefined)[]): string[] {
  const rounded = hundredthsOfParts(values.map((value) => value ?? 0n));
  return values.map((value, at) => (value === undefined ? "not told apart" : value === null ? kNotKnown : hundredthsText(rounded[at])));
}

export function allRows(incident: Incident, splits: Split[]): SplitRow[] {
  const parts = partsOf(incident, splits);
  const bytes = splits.map((split) =>
    parts.map((part) => {
      const value = part.of(split);
      return value === null || value === undefined ? value : BigInt(value);
    }),
  );
  const shown = bytes.map(shownColumn);
  return parts.map((part, row) => ({
    key: part.key,
    paint: part.paint,
    pattern: part.pattern,
    label: part.label,
    note: part.note,
    residual: part.residual ?? false,
    columns: splits.map((_, column) => ({ bytes: bytes[column][row] ?? null, shown: shown[column][row] })),
  }));
}

export const isAlwaysShown = (key: string) => key === "active" || key === "free";

// Rows with something in one of the balances at least; active and free always, and what may be there from before the recording.
export function splitRows(incident: Incident, splits: Split[]): SplitRow[] {
  const has = (row: SplitRow) => row.columns.some((column) => column.bytes !== null && column.bytes !== 0n);
  const mayHave = (row: SplitRow) => row.key === "before" && row.columns.some((column) => column.shown === kNotKnown);
  return allRows(incident, splits).filter((row) => isAlwaysShown(row.key) || has(row) || mayHave(row));
}

// What the bar is drawn against: the card, or what is known of it.
export function wholeBytes(split: Split, rows: SplitRow[], column: number): number {
  if (split.total_bytes !== null) return Number(split.total_bytes);
  return rows.reduce((sum, row) => sum + Math.max(0, Number(row.columns[column].bytes ?? 0n)), 0);
}
