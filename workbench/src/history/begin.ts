// SPDX-License-Identifier: Apache-2.0
//
// The state before the first row, from the table `begin` (docs/page.md). The rule: it is entered by the same hands as what comes later, row by
// row.
import type { Table } from "../data/table";
import { deviceOf, type Fold } from "./fold";
import { kCategories, type SegmentState } from "./history";
import type { Born } from "./lives_store";
import type { ObjectRow } from "./objects";

const kImported = 8;
const kSettled: readonly string[] = ["segment", "candidate", "direct", "foreign"];

// Enters one row of it.
export function beginOf(begin: Table, fold: Fold): (row: number) => void {
  const { state, blocks, objects } = fold;
  const number = (name: string, row: number) => begin.column(name).number(row);
  const word = (name: "object" | "op" | "state" | "category" | "segment_kind", row: number) => begin.words[name][number(name, row)] ?? "none";
  const orZero = (name: string, row: number) => number(name, row) || 0;
  const orMinusOne = (name: string, row: number) => (begin.column(name).filled(row) ? number(name, row) : -1);

  const block = (row: number): Born => ({
    place: number("place_bytes", row),
    size: number("size_bytes", row),
    device: deviceOf(number("device", row)),
    ticket: number("allocation", row),
    site: orZero("site", row),
    phase: orZero("phase", row),
    step: orZero("step", row),
    library: orZero("library", row),
  });
  const object = (row: number): ObjectRow => ({
    ...block(row),
    object: word("object", row),
    op: word("op", row),
    fromTorch: number("from_torch", row) === 1,
    imported: (orZero("flags", row) & kImported) !== 0,
    memory: number("memory", row),
  });

  const carry = (row: number): void => {
    const device = deviceOf(number("device", row));
    const sums = state.device(device);
    const [bytes, ticket, place] = [number("size_bytes", row), number("allocation", row), number("place_bytes", row)];
    const at = state.row;
    switch (word("state", row)) {
      case "totals":
        if (sums === null) return;
        sums.reportTicket = ticket;
        sums.told.unseen_allocated.set(at, NaN); // as of that report: not told
        return sums.told.reserved_reported.set(at, bytes);
      case "gap":
        return sums?.told.gap.set(at, bytes);
      case "answer":
        return sums?.told.total.set(at, bytes);
      case "residual":
        return sums?.told.residual.set(at, bytes);
      case "others_then":
        return sums?.told.others_then.set(at, bytes);
      case "others":
        return sums?.told.others.set(at, bytes);
      case "tap":
        return state.seeTap();
      case "free_requested":
        return blocks.freeRequested(place, device);
      case "free_completed":
        return blocks.freeCompleted(place, device);
      case "memory":
        return objects.know(ticket, object(row));
    }
  };

  return (row) => {
    if (word("object", row) === "none") return carry(row);
    const as = word("state", row);
    if (as === "deferred") return blocks.bearDeferred(block(row));
    if (as === "block") {
      const category = (kCategories as readonly string[]).indexOf(word("category", row));
      const broken = blocks.bear(block(row), category, number("requested_bytes", row));
      if (broken !== null) state.break(broken);
      return;
    }
    if (!kSettled.includes(as)) return objects.bear(object(row), null);
    objects.bear(object(row), {
      state: as as SegmentState,
      expandable: word("segment_kind", row) === "expandable",
      large: number("large", row) === 1,
      stream: orMinusOne("stream", row),
      pool: orMinusOne("pool", row),
    });
  };
}
