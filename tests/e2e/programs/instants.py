# SPDX-License-Identifier: Apache-2.0
"""Named instants of a running job: a copy of the live ring beside what PyTorch itself says of its memory."""

import json
import os
import pathlib
import subprocess
import time

import torch


def totals() -> dict[str, list[int]]:
    """By device: allocated bytes, reserved bytes, and how many blocks were ever allocated and freed."""
    stats = {device: torch.cuda.memory_stats(device) for device in range(torch.cuda.device_count())}
    return {
        str(device): [
            of["allocated_bytes.all.current"], of["reserved_bytes.all.current"],
            of["allocation.all.allocated"], of["allocation.all.freed"],
        ]
        for device, of in stats.items() if of
    }


def memory() -> dict[str, list]:
    segments = torch.cuda.memory_snapshot()
    return {
        "segments": sorted([s["device"], s["address"], s["total_size"], s["is_expandable"]] for s in segments),
        "blocks": sorted(
            [s["device"], b["address"], b["size"]]
            for s in segments for b in s["blocks"] if b["state"] == "active_allocated"
        ),
        "pending_free_count": sum(b["state"] == "active_pending_free" for s in segments for b in s["blocks"]),
    }


class Instants:
    """Writes instant-NN-NAME.bin and .json into the working folder. The caller has stopped every other thread."""

    def __init__(self, look=memory):
        self.look = look
        self.count = 0
        self.ring = pathlib.Path(f"ring-{os.getpid()}.bin")

    def take(self, name: str) -> None:
        path = f"instant-{self.count:02}-{name}"
        self.count += 1
        while True:
            before = totals()
            subprocess.run(["cp", "--sparse=always", self.ring, path + ".bin"], check=True)
            state = self.look() | {"totals": before}
            if totals() == before:
                break
            time.sleep(0.01)
        pathlib.Path(path + ".json").write_text(json.dumps(state))
