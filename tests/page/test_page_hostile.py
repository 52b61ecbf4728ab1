# SPDX-License-Identifier: Apache-2.0
"""Damaged and contradictory recordings: each is refused as ever and leaves no page, or gives a page that says what the ledger says."""

import csv
import io
import random
import re
import subprocess

import pytest

from conftest import TOP
from page_file import Page

SEEDS = range(10)
EXTREMES = ["0", "1", "2MiB", str(2**53 - 1), str(2**53), str(2**63 - 1), str(2**64 - 1), "65535"]
STARTS = [0, 5000, 2**40, 2**53 - 30, 2**53 - 5, 2**53 + 7, 2**61]
TEXTS = sorted((TOP / "fixtures").glob("*/events.txt"))
OPTIONS = [[], ["--html-events", "1"], ["--html-events", "9"], ["--no-names"], ["--no-names", "--html-events", "3"]]
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
    assert_refused_or_told(made, [])


def contradictory(seed: int) -> str:
    """A fixture with losses declared, numbers at their ends, lines lost, doubled and of another place, from any ticket on."""
    chance = random.Random(seed)
    lines = chance.choice(TEXTS).read_text().splitlines()
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(1, len(lines))
        turn = chance.random()
        if turn < 0.3:
            lines[at] = "lose"
        elif turn < 0.6:
            lines.insert(at, lines[chance.randrange(1, len(lines))])
        else:
            numbers = list(re.finditer(r"\b\d+(?:[KMG]iB)?\b", lines[at]))
            if numbers:
                found = chance.choice(numbers)
                lines[at] = lines[at][: found.start()] + chance.choice(EXTREMES) + lines[at][found.end() :]
    return "\n".join([lines[0], f"header lost=9 start={chance.choice(STARTS)}", *lines[1:], ""])


@pytest.mark.parametrize("seed", range(60))
def test_a_contradictory_recording_is_refused_as_ever_or_told_as_its_ledger_tells_it(case, seed: int):
    try:
        made = case(contradictory(seed))
    except subprocess.CalledProcessError:
        return  # no such text
    assert_refused_or_told(made, OPTIONS[seed % len(OPTIONS)])


def assert_refused_or_told(made, options: list[str]) -> None:
    plain = made.replay(made.ring, "--csv", "-")
    done = made.replay(made.ring, "--html", "page.html", *options)

    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr) and done.returncode in (0, 10, 11, 3, 4)
    if done.returncode in (3, 4):
        assert not (made.folder / "page.html").exists()
        return
    page = Page(made.folder / "page.html")
    if page.outline["window"]["keyframe"]:
        return
    ledger = {row["ticket"]: row for row in csv.DictReader(io.StringIO(plain.stdout))}
    assert page.events.rows == len(ledger) or options[-2:-1] == ["--html-events"]
    if page.events.rows:
        assert int(page.outline["window"]["exact_first_ticket"]) <= page.events["ticket"][0]
    for row, ticket in enumerate(page.events["ticket"]):
        expected = ledger[str(ticket)]
        assert {column: page.ledger_cell(column, row) for column in expected} == expected
