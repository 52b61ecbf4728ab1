# SPDX-License-Identifier: Apache-2.0
"""Each patch breaks one rule of the replay, and must be caught by the fixture and the field (or validation rule) that it names; another killer does not count.

A patch's first line says what is broken, the second names the killer: `killer: FIXTURE WHAT`, WHAT being `exit`, `rule NAME` or a field of expect.txt.
"""

import pathlib
import re

import mutated_replay
import pytest
from cases import FIXTURES, PROGRAMS, differences, encode, expectations

PATCHES = sorted(pathlib.Path(__file__).with_name("patches").glob("*.patch"))


def killer_of(patch: str) -> tuple[str, str]:
    return re.search(r"^killer: (\S+) (.+)$", patch, re.M).groups()


def found_by(fixture: str, program: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """What of the fixture's expectations the program misses."""
    ring = folder / f"{fixture}.bin"
    if not ring.exists():
        encode((FIXTURES / fixture / "events.txt").read_text(), ring)
    return differences(program, ring, expectations((FIXTURES / fixture / "expect.txt").read_text()))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_the_reversion_is_killed_by_what_it_names(patch: pathlib.Path, tmp_path: pathlib.Path):
    text = patch.read_text()
    fixture, killer = killer_of(text)
    (tmp_path / "tree").mkdir()
    program = mutated_replay.build(tmp_path / "tree", text)
    found = found_by(fixture, program, tmp_path)
    assert killer in found, f"expected {fixture} {killer}, found {found}"


def test_the_control_without_a_patch_is_built_the_same_way_and_survives(tmp_path: pathlib.Path):
    source = mutated_replay.SOURCES / "decide_point.cpp"
    first = source.read_text().splitlines()[0]
    patch = f"--- a/replay/{source.name}\n+++ b/replay/{source.name}\n@@ -1,1 +1,1 @@\n-{first}\n+{first} \n"
    (tmp_path / "tree").mkdir()
    program = mutated_replay.build(tmp_path / "tree", patch)
    assert program != PROGRAMS["replay"]
    fixtures = sorted({killer_of(path.read_text())[0] for path in PATCHES})
    assert {name: found for name in fixtures if (found := found_by(name, program, tmp_path))} == {}
