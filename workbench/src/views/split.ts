// SPDX-License-Identifier: Apache-2.0
//
// How the card is split at an instant, as rows of a sum. The rule: rows of several columns stand in one order, and each column is rounded so that
// what is shown adds up to the card (units.ts).
import type { Incident } from "../data/incident";
import type { Balance } from "../data/receipt";
import { hundredthsOfParts, hundredthsText, sizeText, type Count } from "../parts/units";
import { libraryName, patternOf, type Pattern } from "./palette";

// A balance as the receipt has it, or as the page computed it.
export type Split = Omit<Balance, "device" | "ticket" | "instant">;

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
  of: (split: Split) => Count | null;
}

function partsOf(incident: Incident, splits: Split[]): Part[] {
  const { failure } = incident.receipt.evidence;
  const request = failure?.request_bytes ?? failure?.segment_request_bytes ?? null;
  const observed = splits[0]?.source === "observed";
  const othersKnown = splits.some((split) => split.others_bytes !== null);
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
    part(
      "fragmented",
      "fragmented",
      "fragmented",
      request === null ? "in segments nobody saw" : `free, in holes below ${sizeText(request)}`,
      (split) => split.fragmented_free_bytes,
    ),
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

function shownColumn(values: (bigint | null)[]): string[] {
  const rounded = hundredthsOfParts(values.map((value) => value ?? 0n));
  return values.map((value, at) => (value === null ? "not known" : hundredthsText(rounded[at])));
}

export function allRows(incident: Incident, splits: Split[]): SplitRow[] {
  const parts = partsOf(incident, splits);
  const bytes = splits.map((split) =>
    parts.map((part) => {
      const value = part.of(split);
      return value === null ? null : BigInt(value);
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
    columns: splits.map((_, column) => ({ bytes: bytes[column][row], shown: shown[column][row] })),
  }));
}

export const isAlwaysShown = (key: string) => key === "active" || key === "free";

// Rows with something in one of the balances at least; active and free always.
export function splitRows(incident: Incident, splits: Split[]): SplitRow[] {
  return allRows(incident, splits).filter(
    (row) => isAlwaysShown(row.key) || row.columns.some((column) => column.bytes !== null && column.bytes !== 0n),
  );
}

// What the bar is drawn against: the card, or what is known of it.
export function wholeBytes(split: Split, rows: SplitRow[], column: number): number {
  if (split.total_bytes !== null) return Number(split.total_bytes);
  return rows.reduce((sum, row) => sum + Math.max(0, Number(row.columns[column].bytes ?? 0n)), 0);
}
