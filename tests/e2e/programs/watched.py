# SPDX-License-Identifier: Apache-2.0
"""A training job that does what it is told, line by line on standard input, and answers each line: `steps N` (each keeps 4 MiB), `tell` (PyTorch's own
numbers), `lap N` (CPU time of N steps that keep nothing), `fill` (until memory runs out)."""

import os
import sys
import time

import torch
from torch import nn

import memsnap

kept = []


def keep(batch: torch.Tensor) -> None:
    kept.append(torch.empty_like(batch).copy_(batch))


def step(model: nn.Module, keeps: bool) -> None:
    batch = torch.ones(1024, 1024, device="cuda")
    model(batch).mean().backward()
    if keeps:
        keep(batch)
    model.zero_grad()
    memsnap.step()


def answer(model: nn.Module, word: str, count: int) -> str:
    begin = time.process_time_ns()
    if word == "tell":
        return f"{torch.cuda.memory_allocated()} {torch.cuda.memory_reserved()} {torch.cuda.max_memory_allocated()} {torch.cuda.mem_get_info()[0]}"
    while word == "fill":
        keep(torch.empty(256 << 20, dtype=torch.uint8, device="cuda"))
    for _ in range(count):
        step(model, word == "steps")
    return str(time.process_time_ns() - begin)


def main() -> None:
    model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024)).cuda()
    print(f"ready {os.getpid()}", flush=True)
    for line in sys.stdin:
        word, _, count = line.strip().partition(" ")
        print(answer(model, word, int(count or 0)), flush=True)


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError:
        # An interpreter that ends right after a failed backward pass now and then aborts, with the recorder or without.
        os._exit(1)
    os._exit(0)
