# SPDX-License-Identifier: Apache-2.0
"""Jobs beside tools that PyTorch itself brings. Argument: the tool."""

import ctypes
import os
import sys

import torch

MIB = 1024**2


def profiler() -> None:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        kept = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    rows = [row for row in profile.key_averages() if row.key == "aten::empty"]
    print("rows", len(rows), kept.numel())


def nvtx() -> None:
    with torch.cuda.nvtx.range("a range"):
        torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"):
        print(name, os.environ.get(name), getenv(name.encode()))


{"profiler": profiler, "nvtx": nvtx}[sys.argv[1]]()
