# SPDX-License-Identifier: Apache-2.0
"""PyTorch's allocator is replaced by two functions of a library. Argument: the library. When it refuses, the job gives up."""

import sys

import torch

from card import MIB, take


def look() -> None:
    print("look", 0, torch.cuda.mem_get_info(0)[0], flush=True)


def main(library: str) -> None:
    torch.cuda.memory.change_current_allocator(torch.cuda.memory.CUDAPluggableAllocator(library, "library_take", "library_give"))
    kept = [take(size) for size in (1, 64, 300)]
    look()
    del kept[1]
    look()
    while (block := take(500)).data_ptr():
        kept.append(block)
        look()
    sys.exit(f"refused with {sum(block.numel() for block in kept) // MIB} MiB in use")


if __name__ == "__main__":
    main(*sys.argv[1:])
