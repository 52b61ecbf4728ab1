# SPDX-License-Identifier: Apache-2.0
"""Jobs that end in every way a job can end. Argument: the way."""

import os
import subprocess
import sys

import torch

GIB = 1024**3


def work() -> torch.Tensor:
    print("working", flush=True)
    print("a warning", file=sys.stderr, flush=True)
    kept = [torch.empty(size, device="cuda") for size in (10, 10_000, 10_000_000)]
    return kept[-1]


def success() -> None:
    work()
    print("done")


def exception() -> None:
    work()
    raise ValueError("the job's own mistake")


def exit_3() -> None:
    work()
    sys.exit(3)


def underscore_exit() -> None:
    work()
    os._exit(7)


def abort() -> None:
    work()
    os.abort()


def oom_caught() -> None:
    work()
    try:
        torch.empty(64 * GIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        print("caught:", error)
    print("went on")


def oom_caught_silently() -> None:
    try:
        torch.empty(64 * GIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        print("caught")


def oom_uncaught() -> None:
    work()
    torch.empty(64 * GIB, dtype=torch.uint8, device="cuda")


def children() -> None:
    work()
    out = subprocess.run(["sh", "-c", "echo from a shell; echo to stderr >&2; exit 5"], capture_output=True, text=True)
    print(out.returncode, out.stdout, out.stderr)
    child = "import torch; print(torch.empty(100, device='cuda').shape)"
    print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True))


def stdin() -> None:
    for line in sys.stdin:
        print(torch.ones(len(line), device="cuda").numel(), line, end="")


class Squares(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((1000,), index * index)


def forked_workers() -> None:
    work()
    for batch in torch.utils.data.DataLoader(Squares(), batch_size=16, num_workers=2, multiprocessing_context="fork"):
        print(batch.shape, int(batch[0, 0]), batch.cuda().device)


def execs() -> None:
    work()
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", "import torch; print(torch.empty(7, device='cuda').shape, 'after exec')"])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
