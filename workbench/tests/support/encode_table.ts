// SPDX-License-Identifier: Apache-2.0
//
// Writes tables of docs/page.md, in every coding. The rule: from the page's description alone; nothing of src/ is used, so that a reader and a
// writer can disagree.

export type Cell = number | bigint | null;

export interface ColumnToEncode {
  name: string;
  type: string; // number, flag, or the name of a list of words
  coding: string;
  cells: Cell[];
}

export interface TableToEncode {
  rows: number;
  columns: ColumnToEncode[];
  words?: Record<string, string[]>;
}

export interface Context {
  events?: TableToEncode; // of derived
}

const kLimit = (1n << 53n) - 1n;

function leb128(out: number[], value: bigint): void {
  if (value < 0n) throw new Error("a coding has no place for a number below 0");
  for (; value >= 128n; value >>= 7n) out.push(Number(value & 127n) | 128);
  out.push(Number(value));
}

function zigzag(value: bigint): bigint {
  return value >= 0n ? 2n * value : -2n * value - 1n;
}

function cellsOf(table: TableToEncode | undefined, name: string): Cell[] | undefined {
  return table?.columns.find((it) => it.name === name)?.cells;
}

function small(cell: Cell | undefined): bigint | null {
  if (cell === null || cell === undefined) return null;
  const value = BigInt(cell);
  return value > kLimit || value < -kLimit ? null : value;
}

export function encodeColumn(column: ColumnToEncode, table: TableToEncode, context: Context): Uint8Array {
  const out: number[] = [];
  const near = context.events ?? table;
  const values = column.cells.map((cell) => small(cell));
  const at = (name: string, row: number) => small(cellsOf(near, name)?.[row]);
  const kinds = near.words?.kind ?? [];
  const moved = (row: number) => {
    const word = kinds[Number(at("kind", row))];
    const size = at("size_bytes", row) ?? 0n;
    return word === "block_alloc" || word === "initial" ? size : word === "block_free" ? -size : 0n;
  };
  const last = new Map<string, bigint>();
  const bornAt = new Map(cellsOf(near, "ticket")?.map((cell, row) => [String(cell), row]));
  let previous = 0n;
  let gap = 0n;
  for (let row = 0; row < values.length; ++row) {
    const value = values[row];
    if (column.coding === "sparse") {
      if (value === null) {
        gap += 1n;
        continue;
      }
      leb128(out, gap);
      leb128(out, zigzag(value));
      gap = 0n;
      continue;
    }
    if (column.coding === "runs") {
      let end = row + 1;
      while (end < values.length && values[end] === value) end += 1;
      leb128(out, BigInt(end - row));
      leb128(out, value === null ? 0n : value + 1n);
      row = end - 1;
      continue;
    }
    if (value === null) {
      leb128(out, 0n);
      continue;
    }
    const device = String(at("device", row));
    switch (column.coding) {
      case "plain":
        leb128(out, value + 1n);
        break;
      case "delta":
        leb128(out, zigzag(value - previous) + 1n);
        break;
      case "device":
        leb128(out, zigzag(value - (last.get(device) ?? 0n)) + 1n);
        break;
      case "moved":
        leb128(out, zigzag(value - (last.get(device) ?? 0n) - moved(row)) + 1n);
        break;
      case "freed":
        leb128(out, zigzag(value - (last.get(device) ?? 0n) + moved(row)) + 1n);
        break;
      case "based": {
        const segment = `segment ${at("segment", row)}`;
        const base = value - (at("offset_bytes", row) ?? 0n);
        leb128(out, zigzag(base - (last.get(segment) ?? 0n)) + 1n);
        last.set(segment, base);
        break;
      }
      case "back":
        leb128(out, at("ticket", row)! - value + 1n);
        break;
      case "born": {
        const birth = at("allocation", row);
        const born = bornAt.get(String(birth)) ?? row;
        const base = born < row ? values[born] : null;
        leb128(out, zigzag(value - (base ?? previous)) + 1n);
        break;
      }
      default:
        throw new Error(`no coding ${column.coding}`);
    }
    previous = value;
    last.set(device, value);
  }
  return Uint8Array.from(out);
}

export function encodeTable(table: TableToEncode, context: Context = {}): Uint8Array {
  const columns = table.columns.map((it) => encodeColumn(it, table, context));
  const large: Record<string, [number, string][]> = {};
  for (const it of table.columns) {
    const cells = it.cells.flatMap((cell, row): [number, string][] => (cell !== null && small(cell) === null ? [[row, String(cell)]] : []));
    if (cells.length > 0) large[it.name] = cells;
  }
  const head = {
    rows: table.rows,
    columns: table.columns.map((it, index) => ({ name: it.name, coding: it.coding, type: it.type, bytes: columns[index].length })),
    ...(table.words === undefined ? {} : { words: table.words }),
    ...(Object.keys(large).length === 0 ? {} : { large }),
  };
  return tableBytes(JSON.stringify(head), columns);
}

export function tableBytes(head: string, columns: Uint8Array[]): Uint8Array {
  const text = new TextEncoder().encode(head);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.length, true);
  return Buffer.concat([length, text, ...columns]);
}
