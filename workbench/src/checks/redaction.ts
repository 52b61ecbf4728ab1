// SPDX-License-Identifier: Apache-2.0
//
// What may leave in an export: integers, words of closed lists and tokens. The rule: each export is read again before it is handed out, cell by
// cell, and one cell that is nothing of the three stops it.
const kKinds = new Set(
  (
    "block_alloc block_free block_oom birth try_call ok fail free free_fail mem_info blind operation device_sample " +
    "process_sample neighbour phase_begin phase_end mark step note category cap tap_alloc tap_free_requested " +
    "tap_free_completed tap_segment_alloc tap_segment_free tap_segment_map tap_segment_unmap tap_oom keyframe initial " +
    "initial_segment cupti_memory"
  ).split(" "),
);
const kObjects = new Set(
  "none block device managed host array async vmm_handle mapping reservation pool import multicast context graph_node".split(" "),
);
const kCategories = new Set("unknown parameter gradient optimizer_state buffer input activation".split(" "));
const kInteger = /^-?[0-9]{1,40}$/;
const kOp = /^(none|cuda[A-Z][A-Za-z0-9]{2,60}|cu[A-Z][A-Za-z0-9]{2,60})$/;
export const kToken = /^(site|phase|library|dimension|frame)-[0-9a-f]{16}$/;
export const kDigest = /^[0-9a-f]{64}$/;

export function mayStandIn(column: string, cell: string): boolean {
  switch (column) {
    case "kind":
      return kKinds.has(cell);
    case "op":
      return kOp.test(cell);
    case "object":
      return cell === "" || kObjects.has(cell);
    case "category":
      return kCategories.has(cell);
    case "token":
      return cell === "" || kToken.test(cell);
    default:
      return cell === "" || kInteger.test(cell);
  }
}

// What is wrong with a piece of CSV, or null; `columns` are those of its header.
export function faultOfCsv(piece: string, columns: readonly string[]): string | null {
  if (!piece.endsWith("\n")) return "a line is cut";
  for (const line of piece.slice(0, -1).split("\n")) {
    const cells = line.split(",");
    if (cells.length !== columns.length) return `a line has ${cells.length} cells, not ${columns.length}`;
    const odd = cells.findIndex((cell, index) => !mayStandIn(columns[index], cell));
    if (odd >= 0) return `column ${columns[odd]} holds what no export may hold`;
  }
  return null;
}
