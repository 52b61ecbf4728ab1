# SPDX-License-Identifier: Apache-2.0
"""Trains until there is a file `finish` in its folder: with autograd, and a second thread that allocates too; writes down what PyTorch holds then,
and ends with 7. Modes: "main" trains on the main thread; "joined" on another, which the main one waits for; "leaking" keeps more at each step
after `finish` until memory is out, and waits for a file `end`; "homeless" trains in a folder that is gone."""

import itertools
import json
import os
import sys
import threading
import time

import torch

MIB = 2**20
mode = sys.argv[1]
home = os.getcwd()
finish = os.path.join(home, "finish")
stop = threading.Event()
kept = [torch.empty(3 * MIB * (1 + index % 3), dtype=torch.uint8, device="cuda") for index in range(20)]


def churn() -> None:
    held = []
    while not stop.is_set():
        try:
            held.append(torch.empty(MIB // 2 + 4096 * len(held), dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            return
        if len(held) == 12:
            del held[::2]
        time.sleep(0.0005)


def leaked_to_the_end() -> bool:
    try:
        kept.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
        return False
    except torch.OutOfMemoryError:
        print("out of memory", flush=True)
        while not os.path.exists(os.path.join(home, "end")):
            time.sleep(0.01)
        return True


def train() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in itertools.count():
        model(torch.randn(64, 256, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 2:
            if mode == "homeless":
                os.mkdir("gone")
                os.chdir("gone")
                os.rmdir(os.path.join(home, "gone"))
            print("training", flush=True)
        if os.path.exists(finish) and (mode != "leaking" or leaked_to_the_end()):
            return


def write_held() -> None:
    held, segments = [], []
    for segment in torch.cuda.memory_snapshot():
        segments.append([segment["device"], segment["address"], segment["total_size"], bool(segment.get("is_expandable"))])
        held += [[segment["device"], block["address"], block["size"]] for block in segment["blocks"] if block["state"] == "active_allocated"]
    with open(os.path.join(home, "held.json"), "w") as file:
        json.dump({"blocks": sorted(held), "segments": sorted(segments)}, file)


threads = [threading.Thread(target=churn, daemon=True)]
threads[0].start()
if mode == "joined":
    threads.append(threading.Thread(target=train))
    threads[1].start()
    threads[1].join()
else:
    train()
stop.set()
threads[0].join()
write_held()
print("threads", threading.active_count(), "modules", sorted(name for name in sys.modules if "memsnap" in name), "main", sorted(set(globals()) & {"folder", "library"}))
sys.stdout.flush()
time.sleep(1)  # PyTorch aborts now and then when a process ends right behind a backward pass
os._exit(7)
