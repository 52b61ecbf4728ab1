# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch jobs on the simulated GPU that train until they are told to finish (programs/attached.py), for tests of what is done to running jobs."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from conftest import RECORDER, TOP


class Running:
    """A job that runs until it is told to finish."""

    def __init__(self, bench, command: list, record: bool, **extra: str):
        self.bench = bench
        for name in ("finish", "end"):
            (bench.folder / name).unlink(missing_ok=True)
        environment = bench.environment(record=record, **extra)
        self.job = subprocess.Popen(command, cwd=bench.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.job.stdout.readline() == "training\n"
        self.pid = self._python(self.job.pid)

    @staticmethod
    def _python(pid: int) -> int:
        """The launcher's child that runs Python, or the process itself."""
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return Running._python(int(children[0])) if children else pid

    def memsnap(self, *arguments, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess:
        environment = self.bench.environment(record=False, PYTHONPATH=str(TOP / "python"), MEMSNAP_LIBRARY=str(RECORDER), PATH=path)
        command = [sys.executable, "-m", "memsnap", *map(str, arguments)]
        return subprocess.run(command, cwd=self.bench.folder, env=environment, capture_output=True, text=True, timeout=120)

    def attach(self, *options) -> pathlib.Path:
        """Attaches, and gives the recording that it says it made."""
        done = self.memsnap("attach", self.pid, *options)
        assert done.returncode == 0, done.stderr
        first = done.stdout.splitlines()[0]
        assert first.startswith(f"attached  pid {self.pid}  ")
        return pathlib.Path(first.split("  ")[2])

    def end(self) -> tuple:
        """The job's exit code and output, after it was told to finish."""
        time.sleep(0.5)  # what it does after an attach is more than nothing
        for name in ("finish", "end"):
            (self.bench.folder / name).touch()
        stdout, stderr = self.job.communicate(timeout=120)
        return self.job.returncode, stdout, stderr


@pytest.fixture
def start(bench):
    """start(mode, **environment): a job that trains; every one is ended with the test. `record`: with the recorder in it."""
    running = []

    def run(mode="main", under=(), record=False, **extra):
        running.append(Running(bench, [*under, *bench.command("attached.py", mode)], record, **extra))
        return running[-1]

    yield run
    for one in running:
        if one.job.poll() is None:
            os.kill(one.pid, signal.SIGKILL)
            one.job.communicate()
