# SPDX-License-Identifier: Apache-2.0
"""Tensors in a pool of their own beside the default pool. Argument (optional): a library whose functions make the pool's segments."""

import sys

import torch

from card import fill, look, take


def allocator(library: str):
    return torch.cuda.memory.CUDAPluggableAllocator(library, "library_take", "library_give").allocator()


def main(*library: str) -> None:
    pool = torch.cuda.MemPool(*map(allocator, library))
    outside = take(100)
    look()
    with torch.cuda.use_mem_pool(pool):
        inside = [take(size) for size in (0.5, 30, 250)]
    look()
    del inside[1:]
    outside = [outside, take(200)]
    look()
    fill()


if __name__ == "__main__":
    main(*sys.argv[1:])
