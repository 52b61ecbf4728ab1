# SPDX-License-Identifier: Apache-2.0
"""What arming, disarming, attaching and detaching do to a training job on the simulated GPU, where nothing hides the cost. Each job is brought from
one state to the other several times; of the medians of a step in each state the least counts. Beside the longest step while a command acted,
the least of those counts, stands that of the times when nothing was done."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
RECORDER = BUILD / "interpose/libmemsnap.so"
WORKER = pathlib.Path(__file__).with_name("control_worker.py")
STATE_S = 3  # how long the job is left in each state
ROUNDS = 4
JOB_S = 60


class Job:
    def __init__(self, folder: str, **environment: str):
        self.file = pathlib.Path(folder) / "steps"
        command = [TOP / "scripts/with_simcuda", "--", sys.executable, WORKER, self.file, str(JOB_S)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")} | {"MEMSNAP_BUILD": str(BUILD)}
        self.environment = inherited | {"PYTHONPATH": str(TOP / "python"), "MEMSNAP_LIBRARY": str(RECORDER)}
        self.started = subprocess.Popen(command, cwd=folder, env=inherited | environment, stdout=subprocess.PIPE, text=True)
        self.started.stdout.readline()
        self.pid = self.started.pid
        while children := pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            self.pid = int(children[0])
        self.spans: list[tuple[str, int, int]] = []

    def _spend(self, name: str, action) -> None:
        begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        action()
        self.spans.append((name, begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))

    def stay(self, name: str) -> None:
        self._spend(name, lambda: time.sleep(STATE_S))

    def memsnap(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "memsnap", *arguments, str(self.pid)]
        self._spend(arguments[0], lambda: subprocess.run(command, env=self.environment, cwd=self.file.parent, check=True, stdout=subprocess.DEVNULL))

    def steps_ms(self) -> dict[str, list[list[float]]]:
        """The steps that ended in each of the spans of a name, after the job's end."""
        assert self.started.wait(timeout=4 * JOB_S) == 0
        ends = [int(line) for line in self.file.read_text().split()]
        found: dict[str, list[list[float]]] = {}
        for name, begin, end in self.spans:
            found.setdefault(name, []).append([(b - a) / 1e6 for a, b in zip(ends, ends[1:]) if begin < b <= end])
        return found


def measured(folder: str, on: tuple, off: tuple, **environment: str) -> dict[str, list[list[float]]]:
    job = Job(folder, **environment)
    for _ in range(ROUNDS):
        job.stay("not")
        job.memsnap(*on)
        job.stay("recording")
        job.memsnap(*off)
    job.stay("not")
    return job.steps_ms()


def main() -> None:
    print("a training step: recording / not, the least medians; the longest step in ms while a command acts (while nothing is done)")
    for name, on, off, environment in (
        ("cold", ("arm", "--for", "1h"), ("disarm",), {"MEMSNAP_ARM": "cold", "LD_PRELOAD": str(RECORDER)}),
        ("standby", ("arm", "--for", "1h"), ("disarm",), {"MEMSNAP_ARM": "standby", "LD_PRELOAD": str(RECORDER)}),
        ("attach", ("attach",), ("detach",), {}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            steps = measured(folder, on, off, **environment)
        median = {state: min(map(statistics.median, steps[state])) for state in ("not", "recording")}
        longest = "  ".join(f"{act} {min(map(max, steps[act])):.1f}" for act in (on[0], off[0]))
        print(f"  {name:<9}{median['recording'] / median['not']:5.2f}   longest: {longest} ({min(map(max, steps['not'])):.1f})", flush=True)


if __name__ == "__main__":
    main()
