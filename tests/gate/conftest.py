# SPDX-License-Identifier: Apache-2.0
"""Recordings from text, and the command line that judges them."""

import os
import pathlib
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
ENCODE = BUILD / "fixtures/encode/memsnap-encode"
REPLAY = BUILD / "replay/memsnap-replay"


@pytest.fixture
def encoded(tmp_path):
    """encoded(name, text): the recording of a text of events."""

    def make(name: str, text: str) -> pathlib.Path:
        source = tmp_path / f"{name}.events"
        source.write_text("memsnap-events 1\n" + text)
        subprocess.run([ENCODE, source, tmp_path / name], check=True, capture_output=True)
        return tmp_path / name

    return make


@pytest.fixture
def memsnap(tmp_path):
    """memsnap(*arguments, **environment): the command line on this tree's memsnap-replay."""

    def run(*arguments, **extra):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "GITHUB_"))}
        environment |= {"PYTHONPATH": str(TOP / "python"), "MEMSNAP_REPLAY": str(REPLAY), "LC_ALL": "C.UTF-8"} | extra
        command = [sys.executable, "-m", "memsnap", *map(str, arguments)]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run
