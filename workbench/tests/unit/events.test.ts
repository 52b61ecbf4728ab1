// SPDX-License-Identifier: Apache-2.0
//
// The query of the events table, and what its columns are called and show.
import { describe, expect, it } from "vitest";
import { NameBook } from "../../src/data/names";
import type { Column, ColumnType, Table } from "../../src/data/table";
import { columnDocs, rowText, shownColumn } from "../../src/views/events_columns";
import { compileQuery, lastNotAbove, matchingRows, splitTerms, termValue, withTerm } from "../../src/views/events_query";
import { lastAllocations } from "../../src/views/events_recent";

const MiB = 2 ** 20;
const kWords = {
  kind: ["block_alloc", "block_free", "block_oom"],
  op: ["none", "cudaMalloc"],
  object: ["block", "device"],
  state: [],
  category: [],
  segment_kind: [],
};

type Cell = number | string | null; // a string: too large for a number

function table(columns: Record<string, [ColumnType, Cell[]]>): Table {
  const made = new Map<string, Column>();
  for (const [name, [type, cells]] of Object.entries(columns)) {
    const number = (row: number) => (typeof cells[row] === "number" ? (cells[row] as number) : NaN);
    const text = (row: number) => {
      const cell = cells[row];
      return cell === null ? "" : type === "kind" || type === "op" || type === "object" ? kWords[type][cell as number] : String(cell);
    };
    made.set(name, {
      name,
      type,
      number,
      at: (row) => (typeof cells[row] === "number" ? (cells[row] as number) : null),
      filled: (row) => cells[row] !== null,
      text,
    });
  }
  return {
    rows: Object.values(columns)[0][1].length,
    words: kWords,
    names: [...made.keys()],
    has: (name) => made.has(name),
    column: (name) => made.get(name)!,
  };
}

const kEvents = table({
  ticket: ["number", [10, 11, 12, 13, 14, 15]],
  kind: ["kind", [0, 0, 1, 0, 2, 0]],
  op: ["op", [0, 0, 0, 1, 0, 0]],
  device: ["number", [0, 0, 0, 1, 0, null]],
  object: ["object", [0, 0, 0, 1, 0, 0]],
  size_bytes: ["number", [512, 2 * MiB, 512, 40 * MiB, 1024 * MiB, "9007199254740993"]],
  site: ["number", [1, 2, 1, 0, null, 2]],
  phase: ["number", [1, 1, 2, 0, 0, 2]],
  flags: ["number", [0, 1, 0, 4, 2, null]],
  allocation: ["number", [10, 11, 10, 13, null, 15]],
});

const kLabels = {
  site: (ordinal: number) => ["", "loss (train.py:44)", "embed (model.py:7)"][ordinal] ?? "",
  phase: (ordinal: number) => ["", "forward", "optimizer step"][ordinal] ?? "",
  library: () => "",
  dimension: () => "",
};

function rowsOf(query: string): number[] | string {
  const compiled = compileQuery(query, kEvents, kLabels);
  if (!compiled.ok) return compiled.error.text;
  return Array.from({ length: kEvents.rows }, (_, row) => row).filter(compiled.matches);
}

describe("a query of events", () => {
  it("matches a word of a column, or one of several", () => {
    expect(rowsOf("kind:block_free")).toEqual([2]);
    expect(rowsOf("kind:block_free,block_oom")).toEqual([2, 4]);
    expect(rowsOf("op:cudaMalloc")).toEqual([3]);
  });

  it("compares numbers with and without units", () => {
    expect(rowsOf("size>1MiB")).toEqual([1, 3, 4, 5]);
    expect(rowsOf("size>=2MiB size<=40mib")).toEqual([1, 3]);
    expect(rowsOf("size_bytes:512")).toEqual([0, 2]);
    expect(rowsOf("size:0.5KiB")).toEqual([0, 2]);
    expect(rowsOf("ticket:11..13")).toEqual([1, 2, 3]);
    expect(rowsOf("site:1,2 ticket<12")).toEqual([0, 1]);
  });

  it("finds a number that no double holds", () => {
    expect(rowsOf("size>1GiB")).toEqual([5]);
  });

  it("takes an empty cell for no number, and finds it as none", () => {
    expect(rowsOf("site<100")).toEqual([0, 1, 2, 3, 5]);
    expect(rowsOf("site:none")).toEqual([4]);
    expect(rowsOf("device:none")).toEqual([5]);
  });

  it("reads flags as columns of their own", () => {
    expect(rowsOf("nested:1")).toEqual([1]);
    expect(rowsOf("from_torch:1")).toEqual([3]);
    expect(rowsOf("capturing:1")).toEqual([4]);
  });

  it("looks for text in words and names, not in numbers", () => {
    expect(rowsOf("oom")).toEqual([4]);
    expect(rowsOf("TRAIN.py")).toEqual([0, 2]);
    expect(rowsOf('"optimizer step"')).toEqual([2, 5]);
    expect(rowsOf("512")).toEqual([]);
  });

  it("looks for a word in the names of a column of names, beside its numbers", () => {
    expect(rowsOf("phase:optimizer")).toEqual([2, 5]);
    expect(rowsOf("site:train.py")).toEqual([0, 2]);
    expect(rowsOf("site:train.py,2")).toEqual([0, 1, 2, 5]);
    expect(rowsOf("site:none,model")).toEqual([1, 4, 5]);
    expect(rowsOf("-phase:forward kind:block_alloc")).toEqual([3, 5]);
    expect(rowsOf("phase>optimizer")).toBe('"optimizer" is no number');
  });

  it("counts steps from 1, an end with the step that it ends, and the ledger's own way as steps_ended", () => {
    const kind: [ColumnType, Cell[]] = ["kind", [0, 3, 0, 3, 0]];
    const steps = (...ended: Cell[]) => ({ ...table({ kind, step: ["number", ended] }), words: { ...kWords, kind: [...kWords.kind, "step"] } });
    const found = (events: Table, query: string) => {
      const compiled = compileQuery(query, events, kLabels);
      if (!compiled.ok) throw new Error(compiled.error.text);
      return [0, 1, 2, 3, 4].filter(compiled.matches);
    };
    const marked = steps(0, 1, 1, 2, 2);
    expect([found(marked, "step:1"), found(marked, "step:2"), found(marked, "step:3")]).toEqual([[0, 1], [2, 3], [4]]);
    expect([found(marked, "steps_ended:1"), found(marked, "step:3 steps_ended:2")]).toEqual([[1, 2], [4]]);
    const nameless = new NameBook({ sites: [], frames: [], phases: [], libraries: [], dimensions: [] });
    const column = shownColumn(marked, "step", columnDocs(), nameless, false);
    expect([0, 1, 2, 3, 4].map((row) => column.cell(row).text)).toEqual(["1", "1", "2", "2", "3"]);
    expect(column.cell(4).title).toBe("in step 3; 2 steps ended");
    const unmarked = steps(0, 0, 0, 0, 0);
    expect([found(unmarked, "step:1"), found(unmarked, "step:none")]).toEqual([[], [0, 1, 2, 3, 4]]);
  });

  it("turns a term round with a dash", () => {
    expect(rowsOf("-kind:block_alloc")).toEqual([2, 4]);
    expect(rowsOf("kind:block_alloc -loss")).toEqual([1, 3, 5]);
  });

  it("says what it does not understand and searches for nothing", () => {
    expect(rowsOf("colour:red")).toBe('there is no column "colour"');
    expect(rowsOf("size>big")).toBe('"big" is no number');
    expect(rowsOf("kind:block_fre")).toBe('no event of this page has the kind "block_fre"');
    expect(rowsOf("kind>block_free")).toBe('"kind" is a word: it is the same or not');
    expect(rowsOf("size:")).toBe('"size:" has no value');
    expect(rowsOf("constructor:1")).toBe('there is no column "constructor"');
  });

  it("matches every event when it is empty", () => {
    expect(rowsOf("  ")).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("never hangs on text that is no query", () => {
    for (const text of ['"', '-"', "-", "::", 'a:"b c', '>"<', "size>=", "\u202e x:y", '""']) {
      expect(splitTerms(text).every((term) => term.end > term.at)).toBe(true);
      compileQuery(text, kEvents, kLabels);
    }
  });

  it("is written by the fields, one term a field", () => {
    expect(withTerm("kind:block_free loss", "kind", "kind:block_alloc")).toBe("loss kind:block_alloc");
    expect(withTerm("size>=1MiB size<=2MiB step:3", "size", "")).toBe("step:3");
    expect(withTerm("size_bytes>5 -size:7", "size", "size>6")).toBe("-size:7 size>6");
    expect(termValue("size>=1MiB size<=2MiB", "size", ["<="])).toBe("2MiB");
  });

  it("tells the rows that match, in order, and stops when nobody waits any more", async () => {
    const pauses: number[] = [];
    const pause = async () => {
      pauses.push(1);
    };
    const found = await matchingRows(
      300_000,
      (row) => row % 3 === 0,
      () => true,
      pause,
    );
    expect(found!.length).toBe(100_000);
    expect([found![0], found![1], found![99_999]]).toEqual([0, 3, 299_997]);
    expect(pauses.length).toBe(4);
    expect(
      await matchingRows(
        300_000,
        () => true,
        () => false,
        pause,
      ),
    ).toBeNull();
  });

  it("finds the hit at or before a row", () => {
    const hits = new Int32Array([2, 5, 9]);
    expect([0, 2, 4, 5, 100].map((row) => lastNotAbove(hits, row))).toEqual([-1, 0, 0, 1, 2]);
  });
});

describe("the columns of the events table", () => {
  const docs = columnDocs();
  const book = new NameBook({ sites: [{ site: 1, token: "site-00000000000000aa" }], frames: [], phases: [], libraries: [], dimensions: [] });

  it("are explained by the ledger's document", () => {
    expect(docs.get("size_bytes")).toMatchObject({ unit: "bytes", mark: "observed" });
    expect(docs.get("reserved_bytes")).toEqual(docs.get("allocated_bytes"));
    expect(docs.get("kind")!.meaning).toBe("what happened; the kinds of WIRE.md");
    for (const name of kEvents.names) expect(docs.has(name), name).toBe(true);
  });

  it("leave an unknown value empty, and spell a large one from its digits", () => {
    const size = shownColumn(kEvents, "size_bytes", docs, book, false);
    expect(size.cell(1).text).toBe("2.00 MiB");
    expect(size.cell(5)).toEqual({ text: "8388608.00 GiB", title: "9,007,199,254,740,993 B" });
    expect(shownColumn(kEvents, "site", docs, book, false).cell(4).text).toBe("");
    expect(shownColumn(kEvents, "site", docs, book, false).cell(0).text).toBe("site-00000000000000aa");
  });

  it("do not call a request without a stack a block", () => {
    const named = new NameBook({ sites: [{ site: 1, size_bytes: 512 }], frames: [], phases: [], libraries: [], dimensions: [] });
    const requests = table({ kind: ["kind", [0, 2]], site: ["number", [1, 1]] });
    const cells = [0, 1].map((row) => shownColumn(requests, "site", docs, named, false).cell(row).text);
    expect(cells).toEqual(["blocks of 512 B", "without a stack"]);
  });

  it("are copied as the ledger's own words and ordinals, without names", () => {
    expect(rowText(kEvents, 0)).toBe("ticket=10 kind=block_alloc op=none device=0 object=block size_bytes=512 site=1 phase=1 flags=0 allocation=10");
  });
});

describe("what was allocated last", () => {
  it("is of the device alone, newest first, up to the row", () => {
    expect(lastAllocations(kEvents, 0, 4, 10)).toEqual([1, 0]);
    expect(lastAllocations(kEvents, 0, 4, 1)).toEqual([1]);
    expect(lastAllocations(kEvents, 1, 99, 10)).toEqual([3]);
    expect(lastAllocations(kEvents, 0, -1, 10)).toEqual([]);
  });
});
