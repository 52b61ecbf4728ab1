# SPDX-License-Identifier: Apache-2.0
"""The lines of a job's report about recordings that cannot be read: why is told whole, however long their names are."""

import re
import subprocess

import pytest

from conftest import BUILD, REPLAY

ENCODE = BUILD / "fixtures/encode/memsnap-encode"
WIDTH = 100


def why(path) -> str:
    """As it is told of the file alone."""
    said = subprocess.run([REPLAY, path], capture_output=True, text=True).stderr
    return re.fullmatch(r".*?\.bin: (.*?)(, byte offset \d+)? \[\w+\]\n.*", said, re.S).group(1)


@pytest.mark.parametrize("folder", ["job", "a-long-name-" * 15, "with spaces in it " * 12, "\u5b66\u4e60" * 30])
@pytest.mark.parametrize("damage", [lambda ring: ring[:70000], lambda ring: ring[:48] + bytes([1]) * 24 + ring[72:]], ids=["cut", "torn"])
def test_why_a_recording_cannot_be_read_is_told_whole(tmp_path, folder, damage):
    place = tmp_path / folder
    place.mkdir()
    subprocess.run([ENCODE, "-", place / "good.bin"], input="memsnap-events 1\nsegment s 2MiB\n", text=True, check=True)
    (place / "bad.bin").write_bytes(damage((place / "good.bin").read_bytes()))

    screen = subprocess.run([REPLAY, place], capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"}).stdout
    told = screen[screen.index("  unread"):].splitlines()
    assert why(place / "bad.bin") in " ".join(line.strip() for line in told) and "bad.bin: " in told[0], screen
    assert max(map(len, told)) <= WIDTH
