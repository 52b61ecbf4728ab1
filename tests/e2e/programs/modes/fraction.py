# SPDX-License-Identifier: Apache-2.0
"""PyTorch may use half of the card, and asks for more. The environment tells the allocator's mode."""

import torch

from card import fill, look, take


def main() -> None:
    torch.cuda.set_per_process_memory_fraction(0.5)
    kept = take(250)
    look()
    fill()
    del kept


if __name__ == "__main__":
    main()
