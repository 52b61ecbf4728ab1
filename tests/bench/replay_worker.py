# SPDX-License-Identifier: Apache-2.0
"""A real job with about a million block events that dies of fragmentation; with a path, torch's own snapshot is dumped there too."""

import random
import sys
import time

import torch

MIB = 1024 * 1024


def churn(events: int) -> None:
    """2000 live tensors of mixed sizes; free one at random and allocate one, until `events` blocks were allocated or freed."""
    generator = random.Random(1)

    def size() -> int:
        kind = generator.random()
        if kind < 0.45:
            return generator.randrange(512, 64 * 1024)
        return generator.randrange(64 * 1024, MIB) if kind < 0.8 else generator.randrange(MIB, 6 * MIB)

    live = [torch.empty(size(), dtype=torch.uint8, device="cuda") for _ in range(2000)]
    for _ in range(events // 2):
        index = generator.randrange(len(live))
        live[index] = None
        live[index] = torch.empty(size(), dtype=torch.uint8, device="cuda")


def main() -> None:
    events, snapshot = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    if snapshot:
        torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=10**8)
    churn(events)
    kept = []
    try:
        while True:
            kept.append(torch.empty(4 * MIB, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        del kept[::5], kept[::4], kept[::3], kept[::2]
    try:
        torch.empty(1024 * MIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        if snapshot:
            start = time.perf_counter()
            torch.cuda.memory._dump_snapshot(snapshot)
            print(f"{time.perf_counter() - start:.3f}")


if __name__ == "__main__":
    main()
