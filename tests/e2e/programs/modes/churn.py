# SPDX-License-Identifier: Apache-2.0
"""Blocks of many sizes come and go, the cache is emptied, and in the end the card is full. The environment tells the allocator's mode."""

import torch

from card import fill, look, take


def main() -> None:
    look()
    kept = [take(size) for size in (0.0625, 0.5, 3, 12, 30, 200, 5, 701.25)]
    look()
    del kept[::2]
    look()
    torch.cuda.empty_cache()
    look()
    kept += [take(size) for size in (64, 0.25, 90)]
    look()
    fill()


if __name__ == "__main__":
    main()
