# SPDX-License-Identifier: Apache-2.0
"""Another library of the process is refused memory while PyTorch holds most of the card. Arguments: the library, the call it makes, the story."""

import ctypes
import sys

from card import MIB, look, take

OUT_OF_MEMORY = 2


class Library:
    def __init__(self, path: str, call: str):
        self.function = getattr(ctypes.CDLL(path), f"library_{call}")

    def asks(self, mebibytes: int) -> int:
        return self.function(ctypes.c_size_t(mebibytes * MIB))


def refused(library: Library) -> None:
    """PyTorch's tensors fill the card; the library gives up, and so does the job."""
    kept = take(7000)
    look()
    assert library.asks(100) == 0
    look()
    assert library.asks(2048) == OUT_OF_MEMORY
    del kept
    sys.exit("the library was refused")


def served_later(library: Library) -> None:
    """The library tries how much there is, and lives with less. The job fails for a reason of its own."""
    kept = take(6000)
    assert library.asks(2048) == OUT_OF_MEMORY
    assert library.asks(512) == 0
    look()
    del kept
    sys.exit("another mistake")


def ends_well(library: Library) -> None:
    """The library does without; the job is done."""
    kept = take(7000)
    assert library.asks(2048) == OUT_OF_MEMORY
    look()
    del kept


def hoarded(library: Library) -> None:
    """PyTorch holds 6 GiB of which no tensor is left: emptying its cache would have served the library."""
    kept = [take(1024) for _ in range(6)]
    look()
    del kept[:]
    assert library.asks(4096) == OUT_OF_MEMORY
    look()
    sys.exit("the library was refused")


def pinned(library: Library) -> None:
    """As much is free inside PyTorch, but a small tensor lives in each of its segments: emptying the cache gives back nothing."""
    kept = [take(180) for _ in range(38)]
    del kept[:]
    small = []
    for _ in range(38):
        kept.append(take(150))
        small.append(take(20))
    del kept[:]
    look()
    assert library.asks(4096) == OUT_OF_MEMORY
    look()
    del small
    sys.exit("the library was refused")


if __name__ == "__main__":
    path, call, story = sys.argv[1:]
    globals()[story](Library(path, call))
