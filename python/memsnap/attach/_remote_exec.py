# SPDX-License-Identifier: Apache-2.0
"""The second way into a process: Python's own, sys.remote_exec, from 3.14 on. It needs an interpreter of the job's version to ask with: this
one, else the job's own program, where running it gives it no rights that the job has not. The job runs the script at its main thread's next
instruction."""

from __future__ import annotations

import subprocess
import sys

from ._target import Target

_ASK = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"


class Failed(Exception):
    """There is no interpreter to ask with, or it refused; the text says why."""


def interpreter(target: Target, user: int) -> str:
    """What `user` asks a process with. Raises Failed: a program of the job's is its user's to choose, and is run as nobody else."""
    if sys.version_info[:2] == target.python:
        return sys.executable
    if user == target.owner and not target.root:
        return target.executable
    version = ".".join(map(str, target.python))
    raise Failed(f"it runs Python {version}, and its own program is run for nobody but its owner, and not out of a container: run memsnap with Python {version}, or as its owner, in its container")


def run_script(pid: int, script: str, asking: str, timeout_s: float) -> None:
    """`script`: a file that the job sees under this name; `asking`: the interpreter. Raises Failed."""
    try:
        done = subprocess.run([asking, "-I", "-S", "-c", _ASK, str(pid), script], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{asking} could not be run: {error}") from None
    if done.returncode != 0:
        raise Failed(done.stderr.strip().rpartition("\n")[2] or f"{asking} ended with {done.returncode}")
