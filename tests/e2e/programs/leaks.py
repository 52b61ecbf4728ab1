# SPDX-License-Identifier: Apache-2.0
"""Training loops that keep memory of earlier steps, each in its own way, until the card is full. Argument: the way.

The lines that allocate what is kept are marked by comments; the tests look for these.
"""

import gc
import os
import sys

import torch
from torch import nn

import memsnap

WIDTH = 1024
ROWS = 4096  # 16 MiB of float32


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(batch)))


def retained_list(model: Model, batch: torch.Tensor, kept: list) -> None:
    output = model(batch).square()  # kept: retained_list
    output.mean().backward()
    kept.append(output.detach())


def growing_cache(model: Model, batch: torch.Tensor, kept: list) -> None:
    model(batch).mean().backward()
    cache_features(batch, kept)


def cache_features(batch: torch.Tensor, kept: list) -> None:
    kept.append(torch.empty_like(batch).copy_(batch))  # kept: growing_cache


class Node:
    """Refers to itself, so that only the garbage collector frees what it has."""

    def __init__(self, batch: torch.Tensor) -> None:
        self.itself = self
        self.features = torch.empty_like(batch)  # kept: reference_cycle


def reference_cycle(model: Model, batch: torch.Tensor, kept: list) -> None:
    model(batch).mean().backward()
    Node(batch)


def forgotten_hook(model: Model, batch: torch.Tensor, kept: list) -> None:
    def remember(module, arguments, output):
        kept.append(output.detach().clone())  # kept: forgotten_hook

    if not kept:
        model.first.register_forward_hook(remember)
    model(batch).mean().backward()


def main(way: str) -> None:
    if way == "reference_cycle":
        gc.disable()
    model = Model().cuda()
    kept: list = []
    for step in range(4000):
        batch = torch.ones(ROWS, WIDTH, device="cuda")
        globals()[way](model, batch, kept)
        model.zero_grad()
        if way == "reference_cycle" and step % 10 == 9:
            gc.collect()
        if way == "reference_cycle" and step == 45:
            torch.empty(16 << 30, dtype=torch.uint8, device="cuda")
        memsnap.step()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except torch.OutOfMemoryError as error:
        print(f"torch.OutOfMemoryError: {error}", file=sys.stderr, flush=True)
        # An interpreter that ends right after a failed backward pass now and then aborts, with the recorder or without.
        os._exit(1)
