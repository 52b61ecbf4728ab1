# SPDX-License-Identifier: Apache-2.0
"""One training step whose backward pass finds the card full. It tells of its phases and of the size of its batch."""

import os
import sys

import torch

import memsnap

GIB = 1 << 30


def forward(batch: torch.Tensor) -> torch.Tensor:
    return batch.sigmoid()  # the activation


def main() -> None:
    memsnap.note(batch=32)
    batch = torch.ones(3 * GIB // 4, device="cuda", requires_grad=True)  # the batch
    with memsnap.phase("forward"):
        loss = forward(batch).sum()
    with memsnap.phase("backward"):
        loss.backward()


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError as error:
        print(f"torch.OutOfMemoryError: {error}", file=sys.stderr, flush=True)
        # An interpreter that ends right after a failed backward pass now and then aborts, with the recorder or without.
        os._exit(1)
