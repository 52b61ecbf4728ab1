# SPDX-License-Identifier: Apache-2.0
"""One measured process: ns of CPU time per alloc+free pair of a cached 16 KiB block, printed as JSON.

Usage: recorder_worker.py MODE PAIRS. MODE is what is done besides memsnap (which is there or not by LD_PRELOAD): "off", "tap" (memsnap's torch
tap), "arm" (the process asks its own recorder to be armed), or torch's own history: "history" without stacks (the cheapest thing it has),
"python" with Python stacks, "python-alloc" with those of allocations only, "all" with native ones too. The loop runs below 20 Python frames.
"""

import json
import os
import pathlib
import sys
import time

import torch

BLOCK_BYTES = 16 * 1024
REPEATS = 100  # of short stretches: some of them nothing else disturbed
DEPTH = 20
HISTORIES = {
    "history": {"context": None},
    "python": {"context": "all", "stacks": "python"},
    "python-alloc": {"context": "alloc", "stacks": "python"},
    "all": {"context": "all", "stacks": "all"},
}


def pairs(count: int) -> None:
    empty, device, kind = torch.empty, torch.device("cuda"), torch.uint8
    for _ in range(count):
        empty(BLOCK_BYTES, dtype=kind, device=device)


def best_ns_per_pair(count: int) -> float:
    best, stretch = float("inf"), count // REPEATS
    for _ in range(REPEATS):
        start = time.thread_time_ns()
        pairs(stretch)
        best = min(best, (time.thread_time_ns() - start) / stretch)
    return best


def measure(mode: str, count: int) -> dict[str, float]:
    first_lap = best_ns_per_pair(count)
    pairs(100_000 if mode in HISTORIES else 1_200_000)  # past the first lap of a default ring
    return {"first lap": first_lap, "steady": best_ns_per_pair(count)}


def below(frames: int, mode: str, count: int) -> dict[str, float]:
    """Measures with so many frames on the stack, the module's and the loop's among them."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return below(frames, mode, count) if depth < frames - 3 else measure(mode, count)


def arm() -> None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "recorder"))
    import armed

    (file,) = pathlib.Path(os.environ["MEMSNAP_OUT"]).parent.glob("*.bin")
    assert armed.ask(file, armed.RECORD) == (armed.DONE, 0)


def main() -> None:
    mode, count = sys.argv[1], int(sys.argv[2])
    torch.empty(BLOCK_BYTES, device="cuda")
    if mode == "tap":
        import memsnap

        assert memsnap.tap.attach()
    if mode == "arm":
        arm()
    if mode in HISTORIES:
        torch.cuda.memory._record_memory_history(enabled="all", max_entries=100_000, **HISTORIES[mode])
    json.dump(below(DEPTH, mode, count), sys.stdout)


if __name__ == "__main__":
    main()
