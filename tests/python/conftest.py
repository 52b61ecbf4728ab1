# SPDX-License-Identifier: Apache-2.0
"""Runs small programs with a stand-in for the recorder preloaded, and gives what it was told."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "python"
FAMILIES = {"0": "label", "2": "optimizer", "3": "range"}
COLLECTION = "5"


@dataclasses.dataclass
class Told:
    """What a program printed, and the lines that the recorder was told: (thread, word, the rest). `lines` lacks garbage collections, which
    happen when they want to."""

    code: int
    stdout: str
    stderr: str
    all_lines: list

    @property
    def lines(self) -> list:
        passes = {rest.split(" ")[0] for _, word, rest in self.all_lines if word == "begin" and rest.split(" ")[1] == COLLECTION}
        return [(thread, word, rest) for thread, word, rest in self.all_lines if word not in ("begin", "end") or rest.split(" ")[0] not in passes]

    def of(self, *words: str) -> list:
        """The lines of some words, without their threads: "step 0 train"."""
        return [f"{word} {rest}".rstrip() for _, word, rest in self.lines if word in words]

    def story(self) -> str:
        """Ranges as nested text: "range:forward( label:encoder( ) )". Each must be closed by its own handle, innermost first, on its thread."""
        said, open_ranges = [], {}
        for thread, word, rest in self.lines:
            mine = open_ranges.setdefault(thread, [])
            if word == "begin":
                handle, family, _, *name = rest.split(" ", 3)
                said.append(f"{FAMILIES[family]}:{''.join(name)}(")
                mine.append(handle)
            elif word == "end":
                handle = mine.pop()
                assert handle == rest, f"range {rest} was closed while {handle} was the innermost"
                said.append(")")
            else:
                said.append(f"{word} {rest}".rstrip())
        assert not any(open_ranges.values()), f"left open: {open_ranges}"
        return " ".join(said)


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory) -> pathlib.Path:
    library = tmp_path_factory.mktemp("recorder") / "libmemsnap.so"
    source = pathlib.Path(__file__).with_name("recorder.c")
    subprocess.run(["cc", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def tell(stand_in, tmp_path):
    """tell(program, *arguments, preload=True, command=(python,), **environment): the program's source, run."""

    def run(program="", *arguments, preload=True, command=None, **extra) -> Told:
        told = tmp_path / "told"
        told.unlink(missing_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")}
        environment = inherited | {"PYTHONPATH": str(PACKAGE), "TOLD": str(told), "PYTHONDONTWRITEBYTECODE": "1"} | extra
        if preload:
            environment["LD_PRELOAD"] = str(stand_in)
        command = command or [sys.executable, "-c", textwrap.dedent(program), *arguments]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        lines = [line.rstrip("\n").split(" ", 2) for line in told.read_text().splitlines()] if told.exists() else []
        return Told(done.returncode, done.stdout, done.stderr, [(thread, word, "".join(rest)) for thread, word, *rest in lines])

    return run
