# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait until their device was sampled, by looking at their own ring. Argument: what happens."""

import os
import pathlib
import subprocess
import sys
import time

import torch

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import ring_file  # noqa: E402

MIB, GIB = 1024**2, 1024**3
HOLDER = """
import sys, torch
kept = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
print("holding", flush=True)
sys.stdin.read()
"""


def wait_for_samples(device: int = 0) -> None:
    """Two: the first may have been asked for before the last change."""
    ring = pathlib.Path(f"ring-{os.getpid()}.bin")
    wanted = ring_file.sample_count(ring, device) + 2
    deadline = time.monotonic() + 60
    while ring_file.sample_count(ring, device) < wanted:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def take(size: int, device: str = "cuda:0") -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device=device)


def settle(device: int = 0) -> None:
    """A sample, then the driver's own answer."""
    wait_for_samples(device)
    torch.cuda.mem_get_info(device)


def steps() -> None:
    kept = []
    for size in (1, 30 * MIB, 2 * GIB, 100 * MIB):
        kept.append(take(size))
        settle()
    del kept[2]
    torch.cuda.empty_cache()
    settle()


def two_devices() -> None:
    kept = take(50 * MIB, "cuda:0"), take(GIB, "cuda:1")
    settle(0)
    settle(1)
    del kept


def busy() -> None:
    """Segments come and go all the time, in four sizes."""
    deadline = time.monotonic() + 60
    ring = pathlib.Path(f"ring-{os.getpid()}.bin")
    turn = 0
    while not ring.exists() or ring_file.sample_count(ring) < 20:
        assert time.monotonic() < deadline
        kept = take((turn % 4 + 1) * 50 * MIB)
        del kept
        torch.cuda.empty_cache()
        turn += 1


def neighbour(session: str) -> None:
    kept = take(100 * MIB)
    wait_for_samples()
    other = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=session == "another")
    assert other.stdout.readline().strip() == b"holding"
    print(other.pid)
    wait_for_samples()
    other.stdin.close()
    other.wait()
    wait_for_samples()
    del kept


def crowded_out() -> None:
    kept = take(5 * GIB)
    wait_for_samples()
    take(2 * GIB)
    del kept


def forked_child() -> None:
    child = os.fork()
    kept = take(100 * MIB if child else 300 * MIB)
    wait_for_samples()
    if child:
        assert os.waitpid(child, 0)[1] == 0
    del kept


def simple() -> None:
    kept = take(100 * MIB)
    del kept


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
