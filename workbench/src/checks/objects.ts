// SPDX-License-Identifier: Apache-2.0
//
// Objects of the driver that are live, by birth ticket. The rule: an object lives from the row that made it to the one that freed it; a refused
// free ended nothing; what was made while a graph was captured is live only as a graph node.
import type { Incident } from "../data/incident";
import { kCapturing, kImported, kNested, type Rows } from "./rows";

export interface LiveObject {
  kind: string; // word of the class
  device: number | null;
  size: number; // bytes
  imported: boolean;
}

export class LiveObjects {
  readonly live = new Map<number, LiveObject>();
  private readonly ended = new Map<number, LiveObject>();

  // `change`: told of each object that comes (+1) or goes (−1), those from before the first event too.
  constructor(
    incident: Incident,
    private readonly kinds: ReadonlySet<string>,
    private readonly change: (object: LiveObject, sign: 1 | -1) => void = () => {},
  ) {
    const { begin } = incident;
    const [object, device, size, birth, flags] = ["object", "device", "size_bytes", "allocation", "flags"].map((name) => begin.column(name));
    const state = begin.column("state");
    for (let row = 0; row < begin.rows; ++row) {
      const [kind, ticket, bytes] = [object.text(row), birth.at(row), size.at(row)];
      if (!kinds.has(kind) || state.text(row) === "memory" || ticket === null || bytes === null) continue;
      this.enter(ticket, { kind, device: device.at(row), size: bytes, imported: ((flags.at(row) ?? 0) & kImported) !== 0 });
    }
  }

  // Of rows in order: `ok`, `initial_segment`, `free` and `free_fail`.
  step(rows: Rows, row: number) {
    const kind = rows.object(row);
    const ticket = rows.of("allocation", row);
    if (!this.kinds.has(kind) || ticket === null || rows.has(row, kNested | (kind === "graph_node" ? 0 : kCapturing))) return;
    const word = rows.kind(row);
    if (word === "ok" || word === "initial_segment") {
      if (ticket !== rows.of("ticket", row)) return;
      this.enter(ticket, { kind, device: rows.of("device", row), size: rows.of("size_bytes", row) ?? 0, imported: rows.has(row, kImported) });
      return;
    }
    const found = (word === "free" ? this.live : this.ended).get(ticket);
    if (found === undefined) return;
    if (word === "free") {
      this.live.delete(ticket);
      this.ended.set(ticket, found);
      this.change(found, -1);
    } else {
      this.ended.delete(ticket);
      this.enter(ticket, found);
    }
  }

  private enter(ticket: number, object: LiveObject) {
    this.live.set(ticket, object);
    this.change(object, 1);
  }
}

export const objectRows = (rows: Rows, ...others: string[]) => rows.ofKinds("ok", "initial_segment", "free", "free_fail", ...others);
