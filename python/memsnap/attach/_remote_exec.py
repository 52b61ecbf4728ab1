# SPDX-License-Identifier: Apache-2.0
"""The second way into a process: Python's own, sys.remote_exec, from 3.14 on. It needs an interpreter of the job's version to ask with: this
one, else the job's own program. The job runs the script at its main thread's next instruction."""

from __future__ import annotations

import subprocess
import sys

_ASK = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"


class Failed(Exception):
    """The interpreter refused; the text says what it said."""


def run_script(pid: int, script: str, python: tuple, executable: str, timeout_s: float) -> None:
    """`script`: a file that the job sees under this name. Raises Failed."""
    asking = sys.executable if sys.version_info[:2] == python else executable
    try:
        done = subprocess.run([asking, "-I", "-S", "-c", _ASK, str(pid), script], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{asking} could not be run: {error}") from None
    if done.returncode != 0:
        raise Failed(done.stderr.strip().rpartition("\n")[2] or f"{asking} ended with {done.returncode}")
