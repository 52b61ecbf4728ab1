// SPDX-License-Identifier: Apache-2.0
//
// Columns of the events table. The rule: their names and what they mean are those of docs/ledger.md, which is read from there when the page is
// built; a cell without a value is empty, never 0.
import ledger from "../../../docs/ledger.md?raw";
import type { NameBook } from "../data/names";
import type { Table } from "../data/table";
import { counted, durationText, exactText, grouped, minus, sizeText } from "../parts/units";
import { stepNumbers } from "./events_steps";

export interface ColumnDoc {
  meaning: string;
  unit: string;
  mark: string; // observed, derived
}

// Lines of the document's table: | `name`, `name` | meaning | unit | mark |
export function columnDocs(text: string = ledger): Map<string, ColumnDoc> {
  const docs = new Map<string, ColumnDoc>();
  for (const line of text.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (cells.length < 6 || !cells[1].startsWith("`")) continue;
    const meaning = cells[2].replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/`/g, "");
    for (const name of cells[1].matchAll(/`([^`]+)`/g)) docs.set(name[1], { meaning, unit: cells[3], mark: cells[4] });
  }
  docs.set("time_ns", { meaning: "since the first event of the window; may go back between threads", unit: "ns", mark: "observed" });
  docs.set("place_bytes", { meaning: "where it lies in the page's own address space, which is not the driver's", unit: "bytes", mark: "derived" });
  docs.set("flags", { meaning: "nested, capturing, from_torch, imported", unit: "words", mark: "observed" });
  docs.set("step", { meaning: "the step that it lies in, from 1; the ledger has the steps that have ended", unit: "count", mark: "derived" });
  docs.set("memory", { meaning: "birth of the physical memory behind a handle or mapping", unit: "ticket", mark: "derived" });
  docs.set("stream", { meaning: "of the block or segment, as the torch tap told", unit: "ordinal", mark: "observed" });
  docs.set("pool", { meaning: "of the block or segment, as the torch tap told", unit: "ordinal", mark: "observed" });
  return docs;
}

export interface Cell {
  text: string;
  title?: string;
}

export interface ShownColumn {
  name: string;
  doc: ColumnDoc;
  width_rem: number;
  number: boolean; // to the right
  fromReplay: boolean; // the replay's own result, not the page's
  cell(row: number): Cell;
}

export const kFirstShown = ["ticket", "kind", "op", "device", "thread", "size_bytes", "site", "phase", "step", "allocation"];
const kWidths_rem: Record<string, number> = {
  kind: 8.5,
  op: 9.5,
  site: 20,
  phase: 7.5,
  library: 9,
  flags: 11,
  ticket: 6.5,
  thread: 4.5,
  device: 4,
  step: 4,
  code: 4.5,
  time_ns: 7,
};
const kFlagWords = ["nested", "capturing", "from torch", "imported"];
const kUnknown: ColumnDoc = { meaning: "", unit: "", mark: "" };

// A number too large for a double is spelled from its digits.
function bytesCell(text: string): Cell {
  if (text === "") return { text };
  const digits = text.startsWith("-") ? text.slice(1) : text;
  return { text: (text.startsWith("-") ? minus : "") + sizeText(digits), title: exactText(text) };
}

export function shownColumn(table: Table, name: string, docs: Map<string, ColumnDoc>, names: NameBook, fromReplay: boolean): ShownColumn {
  const column = table.column(name);
  const doc = docs.get(name) ?? kUnknown;
  const ordinal =
    (text: (value: number) => string) =>
    (row: number): Cell => {
      const value = column.at(row);
      return value === null || value === 0 ? { text: "" } : { text: text(value), title: `${name} ${value}: ${text(value)}` };
    };
  // A request without a stack has a site by its size as a block has, but is none.
  const isBlock = (row: number) => ["block_alloc", "block_free", "birth", "initial"].includes(table.column("kind").text(row));
  const site = ordinal((value) => names.site(value));
  const step = name === "step" ? stepNumbers(table) : null;
  const cells: Record<string, (row: number) => Cell> = {
    site: (row) => (names.entry(column.at(row) ?? 0)?.size_bytes === undefined || isBlock(row) ? site(row) : { text: "without a stack" }),
    phase: ordinal((value) => names.phase(value)),
    library: ordinal((value) => names.library(value)),
    dimension: ordinal((value) => names.dimension(value)),
    step: (row) => {
      const value = step!(row);
      return value === null ? { text: "" } : { text: grouped(value), title: `in step ${grouped(value)}; ${counted(column.at(row)!, "step")} ended` };
    },
    flags: (row) => ({ text: kFlagWords.filter((_, bit) => ((column.at(row) ?? 0) & (1 << bit)) !== 0).join(", ") }),
    time_ns: (row) => {
      const value = column.at(row);
      return value === null ? { text: "" } : { text: durationText(value), title: `${grouped(value)} ns` };
    },
  };
  const plain = (row: number): Cell => {
    const text = column.text(row);
    return { text: column.type === "number" && name !== "code" && name !== "value" ? grouped(text) : text };
  };
  const isBytes = name.endsWith("_bytes");
  const number = column.type === "number" && !["site", "phase", "library", "dimension", "flags"].includes(name);
  return {
    name,
    doc,
    width_rem: kWidths_rem[name] ?? (isBytes ? 7 : 6.5),
    number,
    fromReplay,
    cell: cells[name] ?? (isBytes ? (row) => bytesCell(column.text(row)) : plain),
  };
}

// One row as text: what the ledger would write, without names, so that it may be handed on.
export function rowText(table: Table, row: number): string {
  return table.names
    .filter((name) => name !== "place_bytes" && name !== "time_ns")
    .map((name) => [name, table.column(name).text(row)])
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `${name}=${text}`)
    .join(" ");
}
