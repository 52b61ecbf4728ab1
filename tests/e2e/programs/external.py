# SPDX-License-Identifier: Apache-2.0
"""A training job that starts while another process already holds most of the card.

Dies of external pressure: the same job fits on an empty card.
"""

import subprocess
import sys
import time

import torch
from torch import nn

NEIGHBOUR = """
import sys, torch
card_bytes = torch.cuda.get_device_properties(0).total_memory
kept = torch.empty(card_bytes * 6 // 10, dtype=torch.uint8, device="cuda")
print("holding", flush=True)
sys.stdin.read()
"""


def train(card_bytes: int) -> None:
    width = 2048
    rows = card_bytes // 32 // (width * 4)
    model = nn.Sequential(*(nn.Linear(width, width) for _ in range(12))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randn(rows, width, device="cuda")).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert neighbour.stdout.readline().strip() == b"holding"
        train(torch.cuda.get_device_properties(0).total_memory)
    finally:
        neighbour.stdin.close()
        neighbour.wait()


if __name__ == "__main__":
    try:
        main()
    finally:
        time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
