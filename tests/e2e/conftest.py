# SPDX-License-Identifier: Apache-2.0
"""How an end-to-end test runs a real PyTorch job on the simulated GPU under the recorder, and reads what it left."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest

from reconcile import mismatches

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
RECORDER = BUILD / "interpose/libmemsnap.so"
REPLAY = BUILD / "replay/memsnap-replay"
ORACLE = BUILD / "oracle/memsnap-oracle"
WITH_SIMCUDA = TOP / "scripts/with_simcuda"
PROGRAMS = pathlib.Path(__file__).with_name("programs")
NATIVE = pathlib.Path(__file__).with_name("native")
CARD = ("--total", "8GiB")


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

    def command(self, *arguments, simcuda: tuple[str, ...] = CARD) -> list[str]:
        """A Python program (a path below programs/), or a whole command, on the simulated GPU."""
        program = PROGRAMS / str(arguments[0])
        command = [sys.executable, program, *arguments[1:]] if program.suffix == ".py" else arguments
        return [str(WITH_SIMCUDA), *simcuda, "--", *map(str, command)]

    def environment(self, record: bool = True, **extra: str) -> dict[str, str]:
        """LD_PRELOAD in `extra` comes before the recorder. PyTorch's own warnings carry the time of day and are switched off."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "SIMCUDA_"))}
        inherited |= {"MEMSNAP_BUILD": str(BUILD), "TORCH_CPP_LOG_LEVEL": "ERROR", "LC_ALL": "C.UTF-8"} | extra
        if record:
            inherited["LD_PRELOAD"] = ":".join([*filter(None, [extra.get("LD_PRELOAD")]), str(RECORDER)])
        return inherited

    def run(self, *arguments, record: bool = True, simcuda: tuple[str, ...] = CARD, stdin: str = "", **extra: str) -> Job:
        """Runs a job to its end in the bench's folder."""
        return self._finished(self.command(*arguments, simcuda=simcuda), self.environment(record, **extra), stdin)

    def run_hooked(self, *arguments, options: tuple[str, ...] = (), stdin: str = "", **extra: str) -> Job:
        """Runs a job to its end under `memsnap run`, which sets the recorder up itself."""
        through = [sys.executable, "-m", "memsnap", "run", "--library", str(RECORDER), *options, "--"]
        return self._finished([*through, *self.command(*arguments)], self.environment(record=False, **extra), stdin)

    def _finished(self, command: list[str], environment: dict[str, str], stdin: str = "") -> Job:
        done = subprocess.run(command, input=stdin, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        return Job(done.returncode, done.stdout, done.stderr, self.rings())

    def rings(self) -> list[pathlib.Path]:
        return sorted(self.folder.glob("ring-*.bin"))

    def replay(self, *arguments, receipt: bool = False) -> Replay:
        """Runs memsnap-replay; with receipt=True also writes and loads its JSON."""
        path = self.folder / "receipt.json"
        path.unlink(missing_ok=True)
        extra = ["--json", path] if receipt else []
        done = subprocess.run(
            [str(REPLAY), *map(str, [*arguments, *extra])],
            cwd=self.folder, env=self.environment(record=False), capture_output=True, text=True, timeout=120,
        )
        loaded = json.loads(path.read_text()) if path.exists() else None
        return Replay(done.returncode, done.stdout, done.stderr, loaded)


def disagreements(ring: pathlib.Path, card_changes: bool) -> list[str]:
    """What memsnap-oracle finds different from memsnap-replay about a ring (nothing when they agree, also in refusing it), and,
    unless others or contexts come and go, where the free memory that the ledgers predict is not what the driver said."""
    receipt, ledger = (ring.with_name(f"{ring.name}.judged.{kind}") for kind in ("json", "csv"))
    replayed = subprocess.run([REPLAY, ring, "--json", receipt, "--csv", ledger], capture_output=True, text=True, timeout=300)
    asked = ["--receipt", receipt] if receipt.exists() else []
    checked = subprocess.run([ORACLE, *asked, ring], capture_output=True, text=True, timeout=300)
    found = []
    if checked.returncode != (0 if asked else replayed.returncode):
        found.append(f"memsnap-replay exit {replayed.returncode} {replayed.stderr}, memsnap-oracle exit {checked.returncode} {checked.stderr}")
    if asked and not card_changes:
        told = json.loads(receipt.read_text())
        with ledger.open() as lines:
            found += mismatches(lines, told["capture"]["start_mode"] == "late")
        reconciliation = told["evidence"]["reconciliation"]
        if reconciliation and reconciliation["mismatch_count"]:
            found.append(f"the receipt says {reconciliation}")
    for path in (receipt, ledger):
        path.unlink(missing_ok=True)
    return [f"{ring}: {difference}" for difference in found]


def judge_and_remove(folder: pathlib.Path, node: pytest.Item | pytest.Collector) -> None:
    """Every ring that a test left is judged; rings are large, so they go away with the test."""
    rings = [ring for ring in sorted(folder.rglob("*.bin")) if ring.is_file() and not ring.is_symlink()]
    card_changes = node.get_closest_marker("card_changes") is not None
    found = [difference for ring in rings for difference in disagreements(ring, card_changes)]
    for ring in folder.rglob("*.bin*"):
        ring.unlink()
    assert found == []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "card_changes: others or contexts on the card come and go during the job, so what they hold differs from one look to the next")


@pytest.fixture
def bench(request, tmp_path):
    yield Bench(tmp_path)
    judge_and_remove(tmp_path, request.node)


@pytest.fixture(scope="module")
def module_bench(request, tmp_path_factory):
    """One folder for the tests of a module, for jobs whose rings several of them look at."""
    folder = tmp_path_factory.mktemp("jobs")
    yield Bench(folder)
    judge_and_remove(folder, request.node)


@pytest.fixture(scope="session")
def native(tmp_path_factory) -> pathlib.Path:
    """The folder with the built programs of native/: busy (with a stand-in for PyTorch's allocator) and libwitness.so."""
    folder = tmp_path_factory.mktemp("native")

    def build(output: str, *arguments: str) -> None:
        flags = ["-D_GNU_SOURCE", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wl,-rpath,$ORIGIN", f"-L{folder}"]
        subprocess.run(["cc", *flags, "-o", folder / output, *arguments], check=True)

    runtime = BUILD / "tests/simcuda"
    shared = ("-shared", "-fPIC")
    build("libc10.so", *shared, str(NATIVE / "c10.c"))
    build("libc10_cuda.so", *shared, str(NATIVE / "c10_cuda.c"), "-l:libc10.so", f"-L{runtime}", "-l:libcudart.so.13")
    build("busy", str(NATIVE / "busy.c"), "-l:libc10_cuda.so", f"-Wl,-rpath-link,{folder}", f"-Wl,-rpath-link,{runtime}")
    build("libwitness.so", *shared, str(NATIVE / "witness.c"))
    return folder


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> str:
    """Another library of the process, which allocates in its own ways (programs/modes/library.c)."""
    built, runtime = tmp_path_factory.mktemp("library") / "libother.so", BUILD / "tests/simcuda"
    flags = ["-D_GNU_SOURCE", "-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", built, PROGRAMS / "modes/library.c", f"-L{runtime}", "-l:libcudart.so.13"], check=True)
    return str(built)
