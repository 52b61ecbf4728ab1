# SPDX-License-Identifier: Apache-2.0
"""A training-like job into which the recorder comes late, in its own process: threads allocate throughout, and at a moment at which they
rest it writes PyTorch's own list of what is live. Arguments: the library, where the list goes, "stay" or "leave"."""

import ctypes
import json
import os
import random
import sys
import threading
import time

import torch

library_path, truth_path, ending = sys.argv[1:]
library, with_gil = ctypes.CDLL, ctypes.PyDLL


def live_blocks():
    blocks = []
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                blocks.append((segment["device"], block.get("address", address), block["size"]))
            address += block["size"]
    return blocks


def tell(library, tell_one):
    """What the process holds: segments as they were mapped, then the blocks."""
    library.memsnap1_initial_begin()
    for segment in torch.cuda.memory_snapshot():
        piece = segment["total_size"]
        if segment.get("is_expandable"):
            piece = 2 << 20 if segment["segment_type"] == "small" else 20 << 20
        for offset in range(0, segment["total_size"], piece):
            tell_one(2 if segment.get("is_expandable") else 0, segment["device"], segment["address"] + offset, min(piece, segment["total_size"] - offset))
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                tell_one(1, segment["device"], block.get("address", address), block["size"])
            address += block["size"]
    return library.memsnap1_initial_end()


stopping = threading.Event()
turn = threading.Lock()


def churn(seed):
    chance, held = random.Random(seed), []
    while not stopping.is_set():
        with turn:
            for _ in range(20):
                held.append(torch.empty(chance.randrange(1, 1 << 18), device="cuda"))
                if len(held) > 40:
                    held.pop(chance.randrange(len(held)))
        time.sleep(0.0001)


kept = [torch.empty(1 << chance, device="cuda") for chance in range(10, 24)]
threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
time.sleep(0.2)

library = library(library_path)
tell_one = with_gil(library_path).memsnap1_initial
tell_one.argtypes = [ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64]
print("attach", library.memsnap1_attach(None, ctypes.c_size_t(0)))
print("told", tell(library, tell_one) > len(kept))
time.sleep(0.3)
del kept[::2]
with turn:
    truth = live_blocks()
    if ending == "leave":
        print("detach", library.memsnap1_detach())
    with open(truth_path, "w") as file:
        json.dump(truth, file)
    sys.stdout.flush()
    os._exit(0)
