# SPDX-License-Identifier: Apache-2.0
"""How an end-to-end test runs a real PyTorch job on the simulated GPU under the recorder, and reads what it left."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
RECORDER = BUILD / "interpose/libmemsnap.so"
REPLAY = BUILD / "replay/memsnap-replay"
WITH_SIMCUDA = TOP / "scripts/with_simcuda"
PROGRAMS = pathlib.Path(__file__).with_name("programs")


@dataclasses.dataclass
class Job:
    """One finished job: its exit code and output, and the rings it left, in order of name."""

    code: int
    stdout: str
    stderr: str
    rings: list[pathlib.Path]

    @property
    def ring(self) -> pathlib.Path:
        assert len(self.rings) == 1, f"expected one ring, found {self.rings}\n{self.stderr}"
        return self.rings[0]


@dataclasses.dataclass
class Replay:
    """One run of memsnap-replay: exit code, terminal output, and the receipt (None unless asked for)."""

    code: int
    stdout: str
    stderr: str
    receipt: dict | None


class Bench:
    """A folder of its own, in which jobs run and leave their rings."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    def command(self, *arguments, simcuda: tuple[str, ...] = ("--total", "8GiB")) -> list[str]:
        return [str(WITH_SIMCUDA), *simcuda, "--", *map(str, arguments)]

    def environment(self, record: bool = True, **extra: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "SIMCUDA_"))}
        inherited["MEMSNAP_BUILD"] = str(BUILD)
        if record:
            inherited["LD_PRELOAD"] = str(RECORDER)
        return inherited | extra

    def run(self, *arguments, record: bool = True, simcuda: tuple[str, ...] = ("--total", "8GiB"), **extra: str) -> Job:
        """Runs a program (a path below programs/, or a whole command) to its end on the simulated GPU."""
        program = PROGRAMS / str(arguments[0])
        command = [sys.executable, program, *arguments[1:]] if program.is_file() else list(arguments)
        done = subprocess.run(
            self.command(*command, simcuda=simcuda),
            cwd=self.folder, env=self.environment(record, **extra), capture_output=True, text=True, timeout=300,
        )
        return Job(done.returncode, done.stdout, done.stderr, self.rings())

    def rings(self) -> list[pathlib.Path]:
        return sorted(self.folder.glob("ring-*.bin"))

    def replay(self, *arguments, receipt: bool = False) -> Replay:
        """Runs memsnap-replay; with receipt=True also writes and loads its JSON."""
        path = self.folder / "receipt.json"
        extra = ["--json", path, "--force"] if receipt else []
        done = subprocess.run(
            [str(REPLAY), *map(str, [*arguments, *extra])],
            cwd=self.folder, env=self.environment(record=False), capture_output=True, text=True, timeout=120,
        )
        loaded = json.loads(path.read_text()) if receipt and path.exists() else None
        return Replay(done.returncode, done.stdout, done.stderr, loaded)


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)
