# SPDX-License-Identifier: Apache-2.0
"""Damaged recordings: each is refused as ever and leaves no page, or gives a page that says what the ledger says."""

import csv
import io
import random

import pytest

from conftest import TOP
from page_file import Page

SEEDS = range(40)
RECORD_BYTES, FIRST_RECORD_BYTES = 64, 65536


def damaged(ring: bytes, seed: int) -> bytes:
    """Bytes of the header, the tables and the first records changed, with the sums left as they were."""
    chance, changed = random.Random(seed), bytearray(ring)
    areas = [(0, 4096), (FIRST_RECORD_BYTES, FIRST_RECORD_BYTES + 64 * RECORD_BYTES), (0, len(ring))]
    for _ in range(chance.randint(1, 4)):
        begin, end = areas[seed % 3]
        changed[chance.randrange(begin, min(end, len(ring)))] ^= 1 << chance.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["six_part", "ring_wrapped", "lost_records"])
def test_a_damaged_recording_is_refused_as_ever_or_told_as_its_ledger_tells_it(case, name: str, seed: int):
    made = case((TOP / "fixtures" / name / "events.txt").read_text())
    made.ring.write_bytes(damaged(made.ring.read_bytes(), seed))
    plain = made.replay(made.ring, "--csv", "-")
    done = made.replay(made.ring, "--html", "page.html")

    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr) and done.returncode in (0, 10, 11, 3, 4)
    if done.returncode in (3, 4):
        assert not (made.folder / "page.html").exists()
        return
    page = Page(made.folder / "page.html")
    if not page.outline["window"]["keyframe"]:
        for row, expected in enumerate(csv.DictReader(io.StringIO(plain.stdout))):
            assert {column: page.ledger_cell(column, row) for column in expected} == expected
