// SPDX-License-Identifier: Apache-2.0
//
// The failing thread's operation (VERDICT.md §5): what was refused, which answer of the device it got, and what the allocator's trace told of it.
// The rule: from the rows before the failure; which answer an operation record names is not in the page, so it is the last one of the thread
// since its last block report.
import { kCapturing, kFromTorch, kNested, Rows } from "./rows";
import { kKeyframeReach_tickets, kTapReach_tickets } from "./thresholds";

export interface Operation {
  victim: "pytorch" | "pytorch_uncached" | "foreign";
  record: number | null; // rows
  refused: number | null; // ticket of the first refused call
  observation: number | null;
  freeObserved: boolean;
  tapOom: number | null;
  begin: number; // ticket
}

export const kHostFrees = new Set(["cudaFreeHost", "cudaHostUnregister", "cuMemFreeHost", "cuMemHostUnregister"]);

// Backwards from a row to `reach` tickets before it, until `visit` says that it is enough.
function backwards(rows: Rows, from: number, reach: number, visit: (row: number) => boolean) {
  const ticket = rows.of("ticket", from)!;
  for (let row = from - 1; row >= 0 && ticket - rows.of("ticket", row)! <= reach; --row) {
    if (visit(row)) return;
  }
}

// Whether anything was given back or mapped strictly between two rows. A captured free gives nothing back.
function disturbed(rows: Rows, after: number, before: number): boolean {
  for (let row = after + 1; row < before; ++row) {
    const kind = rows.kind(row);
    if (kind === "ok" && rows.op(row) === "cuMemMap") return true;
    if (kind !== "free" || rows.has(row, kCapturing)) continue;
    const object = rows.object(row);
    if (object !== "" && object !== "none" ? object !== "host" : !kHostFrees.has(rows.op(row))) return true;
  }
  return false;
}

function rowOfTicket(rows: Rows, ticket: number): number | null {
  let low = 0;
  let high = rows.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows.of("ticket", middle)! < ticket) low = middle + 1;
    else high = middle;
  }
  return low < rows.count && rows.of("ticket", low) === ticket ? low : null;
}

export function operationOf(rows: Rows, failing: number): Operation {
  const oom = rows.kind(failing) === "block_oom";
  const victim = oom ? "pytorch" : rows.has(failing, kFromTorch) ? "pytorch_uncached" : "foreign";
  const ticket = rows.of("ticket", failing)!;
  const own = (row: number) => rows.of("thread", row) === rows.of("thread", failing);
  const operation: Operation = {
    victim,
    record: null,
    refused: oom ? null : ticket,
    observation: null,
    freeObserved: false,
    tapOom: null,
    begin: ticket,
  };
  if (oom) {
    backwards(rows, failing, kTapReach_tickets, (row) => {
      if (!own(row) || rows.of("device", row) !== rows.of("device", failing)) return false;
      if (rows.kind(row) === "tap_oom") operation.tapOom = row;
      return rows.kind(row) === "tap_oom" || rows.kind(row) === "block_oom";
    });
    backwards(rows, failing, kKeyframeReach_tickets, (row) => {
      if (own(row) && rows.kind(row) === "operation") operation.record = row;
      return operation.record !== null;
    });
    if (operation.record !== null) {
      operation.refused = rows.of("cause", operation.record);
      backwards(rows, operation.record, Infinity, (row) => {
        if (!own(row)) return false;
        const answer = rows.kind(row) === "mem_info";
        if (answer && rows.isObservation(row) && rows.of("device", row) === rows.of("device", failing)) operation.observation = row;
        return answer || ["block_alloc", "block_free", "block_oom"].includes(rows.kind(row));
      });
    }
  } else if (victim === "pytorch_uncached") {
    for (let row = failing + 1; row < rows.count && rows.of("ticket", row)! - ticket <= kKeyframeReach_tickets; ++row) {
      if (!own(row) || rows.kind(row) !== "mem_info") continue;
      const fits = rows.isObservation(row) && rows.of("device", row) === rows.of("device", failing);
      if (fits && !disturbed(rows, failing, row)) operation.observation = row;
      break;
    }
  }
  const seen = operation.observation;
  if (seen !== null && operation.refused !== null && rows.of("ticket", seen)! > operation.refused) {
    let fail: number | null = null;
    backwards(rows, seen, Infinity, (row) => {
      if (own(row) && rows.kind(row) === "fail") fail = row;
      return fail !== null;
    });
    if (fail !== null) {
      const everyTicket = rows.of("ticket", seen)! - rows.of("ticket", fail)! === seen - fail;
      operation.freeObserved = everyTicket && !disturbed(rows, fail, seen);
    }
  }
  for (const other of [operation.refused, seen === null ? null : rows.of("ticket", seen)]) {
    if (other !== null) operation.begin = Math.min(operation.begin, other);
  }
  return operation;
}

// Size of the call that was refused first; null where its record is not in the page.
export function refusedSize(rows: Rows, operation: Operation): number | null {
  const row = operation.refused === null ? null : rowOfTicket(rows, operation.refused);
  return row === null || rows.has(row, kNested) ? null : rows.of("size_bytes", row);
}
