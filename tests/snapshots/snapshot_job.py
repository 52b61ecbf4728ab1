# SPDX-License-Identifier: Apache-2.0
"""A job on two streams that keeps PyTorch's own history and leaves its snapshot: segments that come and go. With the torch tap
also what only that tells: a block that waits for another stream, a pool of its own, and what a failure asked for."""

import os
import pickle
import sys
import time

import torch

import memsnap.tap

KIB, MIB = 1 << 10, 1 << 20


def empty(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def what_only_the_tap_tells(other: torch.cuda.Stream) -> list[torch.Tensor]:
    waits = empty(7 * MIB)
    waits.record_stream(other)
    del waits
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [empty(33 * MIB)]
    try:
        empty(20 << 30)
    except torch.OutOfMemoryError:
        pass
    return [*kept, empty(11 * MIB)]


def main(path: str, with_tap: bool) -> None:
    torch.cuda.init()
    if with_tap and not memsnap.tap.attach():
        sys.exit("the tap was not attached")
    torch.cuda.memory._record_memory_history(max_entries=100000, context="alloc", stacks="python")
    kept = [empty(size) for size in (700, 3 * MIB, 25 * MIB, 100 * KIB, 40 * MIB)]
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        elsewhere = empty(5 * MIB)
        del elsewhere
    for round_number in range(30):
        held = [empty((round_number * 977 + part * 131) * KIB + 1) for part in range(6)]
        kept.append(held[round_number % 6])
        if round_number % 7 == 3:
            del kept[round_number % len(kept)]
    del held
    torch.cuda.empty_cache()
    if with_tap:
        kept += what_only_the_tap_tells(other)
    kept.append(empty(60 * MIB))
    with open(path, "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)
    sys.stdout.flush()
    time.sleep(1)
    os._exit(0)


main(sys.argv[1], sys.argv[2:] == ["tap"])
