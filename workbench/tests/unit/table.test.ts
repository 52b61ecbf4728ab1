// SPDX-License-Identifier: Apache-2.0
//
// Tables, coding by coding. The rule: a value at an edge of every width, and nothing but the one error for bytes that are none.
import { describe, expect, test } from "vitest";
import { decodeTable } from "../../src/data/decode";
import { PageError } from "../../src/data/error";
import type { Table } from "../../src/data/table";
import { type Cell, encodeTable, tableBytes, type TableToEncode } from "../support/encode_table";

const kMost = Number.MAX_SAFE_INTEGER;

const decoded = (table: TableToEncode, rowsOf: Table | null = null, more = {}) => decodeTable("t", encodeTable(table, more), rowsOf, {});
const cells = (table: Table, name: string) => Array.from({ length: table.rows }, (_, row) => table.column(name).at(row));

async function refusal(bytes: Uint8Array, rowsOf: Table | null = null): Promise<string> {
  return decodeTable("t", bytes, rowsOf, {}).then(
    () => "read",
    (error: unknown) => {
      expect(error).toBeInstanceOf(PageError);
      return (error as PageError).message;
    },
  );
}

// Columns that the others lean on.
function events(rows: number, more: TableToEncode["columns"] = []): TableToEncode {
  const number = (name: string, coding: string, of: (row: number) => Cell) => ({
    name,
    type: "number",
    coding,
    cells: Array.from({ length: rows }, (_, row) => of(row)),
  });
  return {
    rows,
    words: { kind: ["block_alloc", "block_free", "step"], op: [], object: ["block", "none"] },
    columns: [
      number("ticket", "delta", (row) => 100 + 2 * row),
      { ...number("kind", "plain", (row) => row % 3), type: "kind" },
      number("device", "runs", (row) => (row % 5 === 4 ? null : row % 2)),
      number("allocation", "back", (row) => (row % 3 === 2 ? null : row % 3 === 1 ? 100 + 2 * (row - 1) : 100 + 2 * row)),
      number("size_bytes", "born", (row) => (row % 3 === 2 ? null : 512 * (1 + Math.floor(row / 3)))),
      number("segment", "runs", (row) => (row % 4 === 3 ? null : Math.floor(row / 3))),
      number("offset_bytes", "plain", (row) => (row % 4 === 3 ? null : row * 4096)),
      ...more,
    ],
  };
}

const kEdges: Cell[] = [null, 0, 1, 127, 128, 254, 255, 256, 16383, 16384, 2 ** 31 - 1, 2 ** 31, 2 ** 48, 2 ** 49, 2 ** 52, kMost, 0, null];
const kSigned: Cell[] = [...kEdges, -1, -128, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 49), -kMost, kMost, -kMost, 5];

describe("each coding gives back what was written", () => {
  test.each(["plain", "sparse", "runs"])("%s", async (coding) => {
    const values = coding === "sparse" ? kSigned : kEdges;
    const table = await decoded({ rows: values.length, columns: [{ name: "x", type: "number", coding, cells: values }] });
    expect(cells(table, "x")).toEqual(values);
  });

  test.each(["delta", "device", "moved", "freed", "based", "born", "sparse"])("%s next to events", async (coding) => {
    const rows = kSigned.length;
    const table = await decoded(events(rows, [{ name: "x", type: "number", coding, cells: kSigned }]));
    expect(cells(table, "x")).toEqual(kSigned);
    expect(cells(table, "ticket")).toEqual(kSigned.map((_, row) => 100 + 2 * row));
    expect(cells(table, "allocation")[1]).toBe(100);
  });

  test("of another table's rows, for derived", async () => {
    const main = events(kSigned.length);
    const looked = await decoded(main);
    const derived: TableToEncode = {
      rows: kSigned.length,
      columns: ["moved", "freed", "device", "born"].map((coding) => ({ name: coding, type: "number", coding, cells: kSigned })),
    };
    const table = await decoded(derived, looked, { events: main });
    for (const coding of ["moved", "freed", "device", "born"]) expect(cells(table, coding)).toEqual(kSigned);
  });
});

test("what a coding adds up beyond a double on the way comes out exactly", async () => {
  const sized = events(3);
  for (const at of [1, 2]) sized.columns[at].cells = [0, 0, 0];
  sized.columns[4] = { name: "size_bytes", type: "number", coding: "plain", cells: [kMost, 2, kMost - 3] };
  const table = await decoded({ ...sized, columns: [...sized.columns, { name: "x", type: "number", coding: "moved", cells: [kMost, kMost, 6] }] });
  expect(cells(table, "x")).toEqual([kMost, kMost, 6]);
});

test("a number beyond 2^53 is text only, and stands for nothing in a sum", async () => {
  const table = await decoded({ rows: 3, columns: [{ name: "x", type: "number", coding: "delta", cells: [5, 18446744073709551615n, 6] }] });
  const column = table.column("x");
  expect([column.text(1), column.at(1), column.number(1), column.filled(1)]).toEqual(["18446744073709551615", null, NaN, true]);
  expect([column.text(2), column.filled(2)]).toEqual(["6", true]);
});

test("words and empty cells are as the ledger's CSV has them", async () => {
  const table = await decoded(events(6));
  expect([0, 1, 2].map((row) => table.column("kind").text(row))).toEqual(["block_alloc", "block_free", "step"]);
  expect([table.column("device").text(4), table.column("size_bytes").text(2), table.column("size_bytes").filled(2)]).toEqual(["", "", false]);
});

test("a column answers in any order of rows", async () => {
  const values = Array.from({ length: 300 }, (_, row): Cell => (row % 7 === 0 ? row : null));
  const runs = values.map((_, row): Cell => (row < 90 ? null : Math.floor(row / 50)));
  const table = await decoded({
    rows: 300,
    columns: [
      { name: "s", type: "number", coding: "sparse", cells: values },
      { name: "r", type: "number", coding: "runs", cells: runs },
    ],
  });
  for (let at = 0; at < 2000; ++at) {
    const row = (at * 7919) % 300;
    expect(table.column("s").at(row)).toBe(values[row]);
    expect(table.column("r").at(row)).toBe(runs[row]);
  }
});

describe("a damaged table is refused, and the part named", () => {
  const one = (head: object, ...columns: number[][]) =>
    tableBytes(
      JSON.stringify(head),
      columns.map((it) => Uint8Array.from(it)),
    );
  const column = (coding: string, bytes: number, more = {}) => ({ name: "x", type: "number", coding, bytes, ...more });

  test.each<[string, Uint8Array, RegExp]>([
    ["nothing", Uint8Array.of(), /^t: is cut off before its head/],
    ["a head longer than the bytes", Uint8Array.of(255, 255, 255, 255, 0), /^t: is cut off within its head/],
    ["a head that is no JSON", tableBytes("{", []), /no JSON/],
    ["a head that is a list", tableBytes("[]", []), /no object/],
    ["rows that nobody has", one({ rows: 1e15, columns: [] }), /no count of rows/],
    ["a part of a row", one({ rows: 1.5, columns: [] }), /no count of rows/],
    ["a column longer than the bytes", one({ rows: 1, columns: [column("plain", 9)] }, [1]), /cut off within x/],
    ["bytes of nobody", one({ rows: 1, columns: [column("plain", 1)] }, [1, 1]), /no column claims/],
    ["a coding of another version", one({ rows: 1, columns: [column("zip", 1)] }, [1]), /coding/],
    ["two columns of one name", one({ rows: 1, columns: [column("plain", 1), column("plain", 1)] }, [1], [1]), /name of its own/],
    ["a name of an object's insides", one({ rows: 1, columns: [column("plain", 1, { name: "__proto__" })] }, [1]), /name of its own/],
    ["fewer numbers than rows", one({ rows: 9, columns: [column("plain", 1)] }, [1]), /t\.x: has fewer numbers than rows/],
    ["more numbers than rows", one({ rows: 1, columns: [column("plain", 2)] }, [1, 1]), /more numbers than rows/],
    ["a number without an end", one({ rows: 1, columns: [column("plain", 1)] }, [128]), /ends within a number/],
    ["a number of eleven bytes", one({ rows: 1, columns: [column("plain", 11)] }, Array<number>(10).fill(255).concat(1)), /longer than 64 bits/],
    [
      "a number of ten bytes and more than 64 bits",
      one({ rows: 1, columns: [column("plain", 10)] }, Array<number>(9).fill(255).concat(2)),
      /longer than 64 bits/,
    ],
    ["a number beyond 2^53 in its column", one({ rows: 1, columns: [column("plain", 8)] }, Array<number>(7).fill(255).concat(127)), /beyond 2\^53/],
    ["runs of too many rows", one({ rows: 3, columns: [column("runs", 2)] }, [4, 1]), /more rows than the table/],
    ["runs of too few rows", one({ rows: 3, columns: [column("runs", 2)] }, [2, 1]), /fewer rows/],
    ["sparse rows behind the last", one({ rows: 3, columns: [column("sparse", 4)] }, [2, 1, 0, 1]), /more rows than the table/],
    ["a word that is none", one({ rows: 1, columns: [column("plain", 1, { type: "kind" })], words: { kind: ["a"] } }, [2]), /no word/],
    ["a flag that is none", one({ rows: 1, columns: [column("plain", 1, { type: "flag" })] }, [3]), /no word/],
    ["a coding without what it needs", one({ rows: 1, columns: [column("back", 1)] }, [2]), /before ticket/],
    ["large numbers of nobody", one({ rows: 1, columns: [], large: { y: [] } }), /large/],
    ["a large number in no row", one({ rows: 1, columns: [column("plain", 1)], large: { x: [[1, "5"]] } }, [0]), /large/],
    ["a large number that is text", one({ rows: 1, columns: [column("plain", 1)], large: { x: [[0, "<b>"]] } }, [0]), /large/],
  ])("%s", async (_name, bytes, why) => {
    expect(await refusal(bytes)).toMatch(why);
  });

  test("a column that must be there", async () => {
    await expect(decodeTable("t", encodeTable(events(3)), null, { pool: "number" })).rejects.toThrow("t: has no column pool");
    await expect(decodeTable("t", encodeTable(events(3)), null, { kind: "number" })).rejects.toThrow(/kind/);
  });

  test("rows that claim more than a whole memory cost nothing", async () => {
    const bytes = one({ rows: 1 << 26, columns: [column("plain", 1)] }, [1]);
    expect(await refusal(bytes)).toMatch(/fewer numbers/);
  });
});

test("random bytes and damaged tables are refused or read, nothing else", async () => {
  let state = 12345;
  const random = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const good = encodeTable(events(40, [{ name: "x", type: "number", coding: "moved", cells: Array.from({ length: 40 }, (_, row) => row * 512) }]));
  let refused = 0;
  for (let round = 0; round < 3000; ++round) {
    const bytes = Uint8Array.from(round % 3 === 0 ? Array.from({ length: random(80) }, () => random(256)) : good);
    for (let flips = random(6); bytes.length > 0 && flips >= 0; --flips) bytes[random(bytes.length)] = random(256);
    const cut = round % 5 === 0 ? bytes.subarray(0, random(bytes.length + 1)) : bytes;
    const said = await refusal(cut);
    if (said !== "read") refused += 1;
  }
  expect(refused).toBeGreaterThan(1000);
});
