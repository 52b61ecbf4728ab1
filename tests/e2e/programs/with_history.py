# SPDX-License-Identifier: Apache-2.0
"""Runs another program with PyTorch's history on, and writes failure-<n>.pickle at each failure and end.pickle at the end.

Arguments: the program, then its own arguments.
"""

import os
import pathlib
import pickle
import runpy
import sys
import time
import traceback

import torch

failures = 0


def dump(name: str) -> None:
    pathlib.Path(name).write_bytes(pickle.dumps(torch.cuda.memory._snapshot(), protocol=4))


def failed(*_) -> None:
    global failures
    failures += 1
    dump(f"failure-{failures}.pickle")


def main() -> None:
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, context="alloc", stacks="python")
    torch._C._cuda_attach_out_of_memory_observer(failed)
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(pathlib.Path(sys.argv[0]).parent))
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as wanted:
        code = wanted.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    dump("end.pickle")
    time.sleep(1)  # PyTorch's own threads may still be in a backward pass
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
