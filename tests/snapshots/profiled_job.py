# SPDX-License-Identifier: Apache-2.0
"""A training job under PyTorch's profiler: memory from before it, steps, a label, autograd's threads, and a failure that is survived. Arguments:
the trace to write (`.gz` compresses), and the devices to work on."""

import os
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def steps(profiler, device: str, model, optimizer) -> None:
    for _ in range(3):
        with record_function("my label"):
            loss = model(torch.randn(64, 256, device=device)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()


def main(path: str, *devices: str) -> None:
    jobs = []
    for device in devices:
        model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(3))).to(device)
        jobs.append((device, model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)))
    older = torch.empty(3 << 20, dtype=torch.uint8, device=devices[0])
    # Only a profiler with a schedule names its steps; shapes and stacks are asked for by the memory timeline.
    every_step = schedule(wait=0, warmup=0, active=100, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=every_step, profile_memory=True, record_shapes=True, with_stack=True) as profiler:
        for job in jobs:
            steps(profiler, *job)
        del older
        try:
            torch.empty(1 << 40, dtype=torch.uint8, device=devices[0])
        except torch.OutOfMemoryError:
            pass
    profiler.export_chrome_trace(path)
    if path.endswith(".json"):
        for name in ("timeline.json", "timeline.raw.json.gz"):
            profiler.export_memory_timeline(name, device=devices[0])
    sys.stdout.flush()
    time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
