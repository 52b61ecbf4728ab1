# SPDX-License-Identifier: Apache-2.0
"""Short jobs that a recording tells less of than they know themselves. Argument: the story."""

import os
import sys

import torch

from card import MIB, fill, look, take


def small_requests() -> None:
    """Requests that the allocator rounds up; how much was asked for, only PyTorch knows."""
    kept = [torch.empty(100, dtype=torch.uint8, device="cuda") for _ in range(1000)]
    stats = torch.cuda.memory_stats()
    print("asked", stats["requested_bytes.all.current"], flush=True)
    look()
    fill()
    del kept


def unmarked_leak() -> None:
    """A server keeps something of each answer. Nothing tells where a request begins: no optimizer, no mark."""
    kept = []
    for _ in range(10_000):
        hidden = [take(40), take(90)]
        kept.append(take(24))
        del hidden


def ended() -> None:
    """A failure is caught, and the job goes on with less."""
    kept = take(5000)
    try:
        take(4000)
    except torch.OutOfMemoryError:
        print("caught", flush=True)
    kept = [kept, take(1000)]
    look()


def left_by_exit() -> None:
    """The same, by a process that leaves as multiprocessing's workers do."""
    ended()
    os._exit(0)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
