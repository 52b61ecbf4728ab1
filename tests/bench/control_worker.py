# SPDX-License-Identifier: Apache-2.0
"""Trains for so many seconds and writes down when each step ended: CLOCK_MONOTONIC, ns. Arguments: FILE SECONDS."""

import os
import sys
import time

import torch

path, seconds = sys.argv[1], float(sys.argv[2])
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8))).cuda()
optimizer = torch.optim.AdamW(model.parameters())
ends_ns = []
while not ends_ns or ends_ns[-1] - ends_ns[0] < seconds * 1e9:
    model(torch.randn(64, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    ends_ns.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    if len(ends_ns) == 50:
        print("training", flush=True)
with open(path, "w") as file:
    file.write("\n".join(map(str, ends_ns)))
time.sleep(1)  # PyTorch aborts now and then when a process ends right behind a backward pass
os._exit(0)
