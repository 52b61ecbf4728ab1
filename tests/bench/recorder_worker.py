# SPDX-License-Identifier: Apache-2.0
"""One measured process: ns of CPU time per alloc+free pair of a cached 16 KiB block, printed as JSON.

Usage: recorder_worker.py MODE PAIRS. MODE is what records besides memsnap (which is there or not by LD_PRELOAD): "off" or "history"
(torch's own history without context, the cheapest thing it has).
"""

import json
import sys
import time

import torch

BLOCK_BYTES = 16 * 1024
REPEATS = 7


def pairs(count: int) -> None:
    empty, device, kind = torch.empty, torch.device("cuda"), torch.uint8
    for _ in range(count):
        empty(BLOCK_BYTES, dtype=kind, device=device)


def best_ns_per_pair(count: int) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        start = time.thread_time_ns()
        pairs(count)
        best = min(best, (time.thread_time_ns() - start) / count)
    return best


def main() -> None:
    mode, count = sys.argv[1], int(sys.argv[2])
    torch.empty(BLOCK_BYTES, device="cuda")
    if mode == "history":
        torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=100_000)
    first_lap = best_ns_per_pair(count // REPEATS)
    pairs(1_200_000 if mode == "off" else 100_000)  # past the first lap of a default ring
    json.dump({"first lap": first_lap, "steady": best_ns_per_pair(count)}, sys.stdout)


if __name__ == "__main__":
    main()
