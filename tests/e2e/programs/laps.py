# SPDX-License-Identifier: Apache-2.0
"""Catches an out-of-memory failure, gives something up, succeeds, and goes on for more events than a small ring holds.

Argument: what causes the failure.
"""

import sys

import torch

MIB = 1024 * 1024


def fragmented(card_bytes: int) -> list[torch.Tensor]:
    pieces = [torch.empty(5 * MIB, dtype=torch.uint8, device="cuda") for _ in range(card_bytes * 9 // 10 // (5 * MIB))]
    return pieces[::2]


def full(card_bytes: int) -> list[torch.Tensor]:
    return [torch.empty(card_bytes * 9 // 10, dtype=torch.uint8, device="cuda")]


def churn(pairs: int) -> None:
    for _ in range(pairs):
        torch.empty(1000, device="cuda")


def main(cause: str) -> None:
    card_bytes = torch.cuda.get_device_properties(0).total_memory
    held = {"fragmentation": fragmented, "live_set": full}[cause](card_bytes)
    churn(3000)  # more events than a keyframe has room for: what is live must come from its table
    try:
        torch.empty(card_bytes // 8, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        print("caught", flush=True)
    held.clear()
    torch.empty(card_bytes // 8, dtype=torch.uint8, device="cuda")
    churn(30_000)


if __name__ == "__main__":
    main(sys.argv[1])
