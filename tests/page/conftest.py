# SPDX-License-Identifier: Apache-2.0
"""Pages of encoded recordings."""

import os
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
REPLAY = BUILD / "replay/memsnap-replay"
ENCODE = BUILD / "fixtures/encode/memsnap-encode"


class Case:
    """A folder with the recording of a text."""

    def __init__(self, folder: pathlib.Path, text: str):
        self.folder, self.ring = folder, folder / "ring.bin"
        subprocess.run([ENCODE, "-", self.ring], input=text, text=True, check=True, timeout=60)

    def replay(self, *arguments, text: bool = True) -> subprocess.CompletedProcess:
        return subprocess.run([REPLAY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=text, timeout=120)

    def page(self, *options) -> pathlib.Path:
        path = self.folder / "page.html"
        path.unlink(missing_ok=True)
        done = self.replay(self.ring, "--html", path, *options)
        assert path.exists(), done.stderr
        return path


@pytest.fixture
def case(tmp_path: pathlib.Path):
    return lambda text: Case(tmp_path, text)
