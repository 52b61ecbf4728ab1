# SPDX-License-Identifier: Apache-2.0
"""A training step with categories and without ("categorized": only with). Prints what torch's allocator holds at each point, its peak, and
sums of the gradients; one line for each way.
"""

import contextlib
import sys
import time

import torch
from torch import nn

import memsnap


def train(model: nn.Module, categorized: bool) -> list:
    seen = []
    optimizer = torch.optim.AdamW(model.parameters())
    batch, target = torch.randn(8, 32, 64, device="cuda"), torch.randn(8, 32, 64, device="cuda")
    for _ in range(4):
        if categorized:
            memsnap.categorize(model, optimizer)
        with memsnap.activations() if categorized else contextlib.nullcontext():
            output = model(batch)
            loss = nn.functional.mse_loss(output, target)
        seen.append(torch.cuda.memory_allocated())
        del output
        loss.backward()
        seen.append(torch.cuda.memory_allocated())
        seen += [parameter.grad.sum().item() for parameter in model.parameters()]
        optimizer.step()
        optimizer.zero_grad()
        seen.append(torch.cuda.memory_allocated())
    with memsnap.activations() if categorized else contextlib.nullcontext():
        model(batch)  # a graph that nobody runs backward goes away with its result
    return [*seen, torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()]


def main() -> None:
    ways = (True,) if sys.argv[1:] == ["categorized"] else (True, False)
    warmed_up = nn.Linear(8, 8).cuda()
    warmed_up(torch.ones(8, 8, device="cuda")).sum().backward()
    for categorized in ways:
        torch.manual_seed(0)
        torch.cuda.reset_peak_memory_stats()
        print(train(nn.TransformerEncoderLayer(64, 4, dim_feedforward=256, batch_first=True).cuda(), categorized))


if __name__ == "__main__":
    main()
    time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
