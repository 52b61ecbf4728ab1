# SPDX-License-Identifier: Apache-2.0
"""How gpu_check runs things: within time limits, with and without the recorder, and with memsnap's own programs from a build or a packed
folder. The rule: nothing outlives its limit, and what is kept of a job can be carried away."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
TOP = HERE.parents[1]
RECORDER, REPLAY, ORACLE = "interpose/libmemsnap.so", "replay/memsnap-replay", "oracle/memsnap-oracle"
LOADER = "lib/loader"
SIMULATED_CARD = ("--total", "8GiB")
TIMED_OUT = 124


class OutOfTime(Exception):
    """The whole check has no time left for another program."""


@dataclasses.dataclass
class Done:
    code: int
    stdout: str
    stderr: str


@dataclasses.dataclass
class Bench:
    build: pathlib.Path
    work: pathlib.Path  # for what is not kept
    out: pathlib.Path
    simulated: bool
    deadline: float  # of the whole check, by time.monotonic()

    def run(self, command: list, limit_s: float, folder: pathlib.Path, environment: dict | None = None) -> Done:
        """Runs a command and all that it starts; the whole process group ends at the limit, with code 124."""
        left_s = self.deadline - time.monotonic()
        if left_s < 1:
            raise OutOfTime
        process = subprocess.Popen(
            [str(part) for part in command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            stdout, stderr = process.communicate(timeout=min(limit_s, left_s))
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            code = TIMED_OUT
        return Done(code, stdout, stderr)

    def python(self, arguments: list, limit_s: float, folder: pathlib.Path, record: bool, **extra: str) -> Done:
        """A Python program on the card, without whatever recorder or settings this process has inherited."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "PYTORCH_", "SIMCUDA_"))}
        environment.pop("LD_PRELOAD", None)
        environment |= {"TORCH_CPP_LOG_LEVEL": "ERROR", "LC_ALL": "C.UTF-8"} | extra
        launcher = []
        if self.simulated:
            environment["MEMSNAP_BUILD"] = str(self.build)
            launcher = [TOP / "scripts/with_simcuda", *SIMULATED_CARD, "--"]
        if record:
            environment |= {"LD_PRELOAD": str(self.build / RECORDER), "MEMSNAP_OUT_ANYFS": "1"}
        return self.run([*launcher, sys.executable, *arguments], limit_s, folder, environment)

    def tool(self, name: str, *arguments, folder: pathlib.Path, limit_s: float = 60) -> Done:
        """memsnap-replay or memsnap-oracle; those of a packed folder bring their own C library."""
        loader = self.build / LOADER
        packed = [loader, "--library-path", loader.parent] if loader.exists() else []
        return self.run([*packed, self.build / name, *arguments], limit_s, folder)


def rows_of(ledger: str) -> list:
    """The rows of `memsnap-replay --csv`."""
    return list(csv.DictReader(io.StringIO(ledger)))


def last_sample(rows: list) -> dict | None:
    """The first device_sample behind the program's last question to the device, or None."""
    found = None
    for row in rows:
        if row["kind"] == "mem_info":
            found = None
        elif row["kind"] == "device_sample" and row["code"] == "0" and found is None:
            found = {"total_bytes": int(row["device_total_bytes"]), "free_bytes": int(row["device_free_bytes"])}
    return found


def predictions(rows: list) -> list:
    """[expected, observed] free bytes at each answer to the program that could be predicted."""
    return [[int(row["expected_free_bytes"]), int(row["device_free_bytes"])] for row in rows
            if row["kind"] == "mem_info" and row["expected_free_bytes"] and row["device_free_bytes"]]


def replayed_state(text: str) -> dict:
    """What `dump --state` says, in the shape of what a job writes of PyTorch."""
    rows = [line.split() for line in text.splitlines()]
    return {
        "totals": {row[1]: [int(row[2]), int(row[3])] for row in rows if row[0] == "totals"},
        "segments": sorted([int(row[1]), int(row[2], 16), int(row[3]), row[4] == "expandable"] for row in rows if row[0] == "segment"),
        "blocks": sorted([int(row[1]), int(row[2], 16), int(row[3])] for row in rows if row[0] == "block"),
    }


def entry_point_counts(header: str) -> dict:
    """Of `dump --header`: by library name without version, how many of the driver's entry points it was given as the recorder's."""
    counts: dict = {}
    for count, name in re.findall(r"^library \d+ role \S+ entry_points (\d+) name (.+)$", header, re.MULTILINE):
        stem = name.partition(".so")[0]
        counts[stem] = counts.get(stem, 0) + int(count)
    return counts


def redacted(text: str) -> str:
    """Messages without folders and process ids."""
    text = re.sub(r"(?:/[^\s/:'\",()]+)+/", "/", text)
    return re.sub(r"\b([Pp]rocess |ring-)\d+", r"\1N", text)


def facts_of(folder: pathlib.Path) -> dict | None:
    path = folder / "facts.json"
    return json.loads(path.read_text()) if path.exists() else None


def pack(build: pathlib.Path, target: pathlib.Path) -> int:
    """Copies what gpu_check needs of a build, without debugging information, and with all libraries of its two programs where these are not whole. Returns the bytes."""
    for name in (RECORDER, REPLAY, ORACLE):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / name, target / name)
        subprocess.run(["strip", "--strip-unneeded", target / name], check=True)
    (target / "lib").mkdir(exist_ok=True)
    for program in (REPLAY, ORACLE):
        listed = subprocess.run(["ldd", build / program], capture_output=True, text=True).stdout  # of a static program nothing
        for name, path in re.findall(r"^\s*(\S+) (?:=> (\S+) )?\(0x", listed, re.MULTILINE):
            if path or name.startswith("/"):
                is_loader = name.startswith("/")
                shutil.copy(path or name, target / (LOADER if is_loader else f"lib/{name}"))
    return sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
