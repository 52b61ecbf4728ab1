# SPDX-License-Identifier: Apache-2.0
"""Short jobs with one known peculiarity each. Argument: its name."""

import ctypes
import sys

import torch

MIB = 1024 * 1024
GIB = 1024 * MIB


def take(size_bytes: int, device: str = "cuda:0") -> torch.Tensor:
    return torch.empty(size_bytes, dtype=torch.uint8, device=device)


def card_bytes() -> int:
    return torch.cuda.get_device_properties(0).total_memory


def free_bytes() -> int:
    return torch.cuda.mem_get_info()[0]


def survived() -> None:
    """The batch-size finder: the failure is caught, something is given up, and the same request then succeeds."""
    first = take(5 * GIB)
    try:
        take(4 * GIB)
    except torch.OutOfMemoryError:
        print("caught")
    del first
    take(4 * GIB)


def deferred_free() -> None:
    """A block that a side stream still uses is freed. The allocator waits for it, but does not look at it again."""
    whole = take(4 * GIB)
    del whole
    used, neighbour = take(3 * GIB), take(800 * MIB)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        used.add_(1)
    used.record_stream(side)
    del used
    rest = take(free_bytes() - 512 * MIB)
    take(2 * GIB)
    del neighbour, rest


def capped() -> None:
    torch.cuda.set_per_process_memory_fraction(0.25)
    kept = take(card_bytes() // 4 - 200 * MIB)
    take(600 * MIB)
    del kept


def larger_than_card() -> None:
    take(1 * MIB)
    take(10 * card_bytes())


def driver_refused() -> None:
    """The session refuses every request of 2 GiB and more."""
    kept = take(1 * GIB)
    take(2 * GIB)
    del kept


def full() -> None:
    """Blocks of many sizes until the card is full: everything on it is in use."""
    kept = []
    while True:
        kept.append(take((len(kept) % 5 + 1) * 50 * MIB))


def full_watched() -> None:
    """The same, by a job that looks at the free memory now and then."""
    kept = []
    while free_bytes() >= 0:
        kept.append(take((len(kept) % 5 + 1) * 50 * MIB))


def recovered() -> None:
    """The cache holds most of the card; the allocator gives it back and the request then succeeds: no incident."""
    pieces = [take(500 * MIB) for _ in range(14)]
    del pieces
    take(6 * GIB)
    print("done")


def second_device() -> None:
    on_first, on_second = take(1 * GIB, "cuda:0"), take(6 * GIB, "cuda:1")
    take(5 * GIB, "cuda:1")
    del on_first, on_second


def neighbour_arrives() -> None:
    """Half of the card is taken by others while the job runs."""
    kept = [take(256 * MIB) for _ in range(4)]
    for _ in range(3):
        take(3 * GIB)
    torch.cuda.empty_cache()
    assert ctypes.CDLL("libcuda.so.1").simcuda_set_external_bytes(0, ctypes.c_uint64(5 * GIB)) == 0
    take(3 * GIB)
    del kept


def near_capacity() -> None:
    """The free bytes together are a little more than the request, but less than one and a half percent of the card more."""
    pieces = [take(6 * MIB) for _ in range(3 * 20)]
    rest = take(free_bytes() - 20 * MIB)
    del pieces[::3]
    take(100 * MIB)
    del rest


if __name__ == "__main__":
    globals()[sys.argv[1]]()
