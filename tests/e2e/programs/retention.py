# SPDX-License-Identifier: Apache-2.0
"""A training loop that keeps each step's outputs "for the metrics" and never drops them.

Dies of retention: what survives from the earlier steps is what is missing now.
"""

import time

import torch
from torch import nn

WIDTH = 1024


def main() -> None:
    card_bytes = torch.cuda.get_device_properties(0).total_memory
    rows = card_bytes // 64 // (WIDTH * 4)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    kept_for_metrics = []
    for step in range(1000):
        batch = torch.randn(rows, WIDTH, device="cuda")
        output = model(batch)
        output.pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        kept_for_metrics.append(output.detach())
        print("step", step, flush=True)


if __name__ == "__main__":
    try:
        main()
    finally:
        time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
