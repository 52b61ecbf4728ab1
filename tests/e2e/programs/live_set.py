# SPDX-License-Identifier: Apache-2.0
"""A training job whose batch is raised after a few steps; the activations of one forward pass no longer fit.

Dies of live-set pressure: everything on the card is needed by the step that failed.
"""

import time

import torch
from torch import nn

WIDTH = 2048
LAYERS = 24


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, rows: int) -> None:
    batch = torch.randn(rows, WIDTH, device="cuda")
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def main() -> None:
    card_bytes = torch.cuda.get_device_properties(0).total_memory
    rows_that_fit = card_bytes // (WIDTH * 4 * LAYERS * 2 * 16)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(10):
        train_step(model, optimizer, rows_that_fit)
    print("raising the batch from", rows_that_fit, "to", rows_that_fit * 24, "rows", flush=True)
    train_step(model, optimizer, rows_that_fit * 24)


if __name__ == "__main__":
    try:
        main()
    finally:
        time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
