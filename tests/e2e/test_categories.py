# SPDX-License-Identifier: Apache-2.0
"""Categories of blocks against those of torch's own memory profiler, at fixed points of one small training step, as docs/categories.md says."""

import json
import re
from collections import Counter

import pytest

from conftest import TOP

DOCS = (TOP / "docs/categories.md").read_text()


def timeline(dump: str) -> list[Counter]:
    """The sums of live bytes by category at each mark, and at the end, from the events alone."""
    live, points = {}, []

    def sums() -> Counter:
        total = Counter()
        for size_bytes, category in live.values():
            total[category] += size_bytes
        return total

    for fields in (line.split() for line in dump.splitlines()):
        kind = fields[2]
        if kind in ("block_alloc", "block_free", "category"):
            address, size_bytes = int(fields[5], 16), int(fields[6])
        if kind == "block_alloc":
            live[address] = (size_bytes, "unknown")
        elif kind == "block_free":
            del live[address]
        elif kind == "category":
            block = max((begin for begin in live if begin <= address < begin + live[begin][0]), default=None)
            assert block is not None, f"nothing is live where {fields} points"
            live[block] = (live[block][0], next(field for field in fields if field.startswith("category=")).partition("=")[2])
        elif kind == "mark":
            points.append(sums())
    return [*points, sums()]


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading of the page."""
    (body,) = re.findall(rf"^## {heading}\n.*?\n\|[-|: ]+\|\n((?:\|[^\n]*\n)+)", DOCS, re.M | re.S)
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in body.splitlines()]


def number(cell: str) -> int:
    return int(cell.replace(",", "").replace("−", "-"))


@pytest.fixture(scope="module")
def step(module_bench):
    """(ours, torch's): {point: {category: bytes}}, and the receipt of the failure at the program's end."""
    job = module_bench.run("package/categories.py")
    torchs = json.loads(job.stdout)
    *ours, last = timeline(module_bench.replay("dump", job.ring).stdout)
    return dict(zip(torchs, ours, strict=True)), torchs, last, module_bench.replay(job.ring, receipt=True).receipt


def test_the_sums_at_each_point_are_those_of_the_page(step):
    ours, torchs, _, _ = step
    measured = [[point, category, ours[point].get(category, 0), torchs[point].get(category, 0)]
                for point in ours for category in sorted(ours[point].keys() | torchs[point].keys())]

    stated = [[point, category, number(mine), number(theirs)] for point, category, mine, theirs, _ in table("The step")]

    assert measured == stated


def test_each_difference_is_explained_to_the_byte(step):
    reasons = {letter: (mine, theirs, number(size_bytes)) for letter, _, mine, theirs, size_bytes in table("Why they differ")}
    for point, category, mine, theirs, letters in table("The step"):
        explained = sum(reasons[letter][2] * ((reasons[letter][0] == category) - (reasons[letter][1] == category)) for letter in letters.split())
        assert number(mine) - number(theirs) == explained, (point, category)


def test_the_receipt_has_the_categories_of_the_failing_instant(step):
    _, _, last, receipt = step

    assert {row["category"]: row["bytes"] for row in receipt["evidence"]["categories"]} == dict(last)


def test_results_peaks_and_gradients_are_the_same_with_and_without_categories(bench):
    job = bench.run("package/same_step.py")

    told, untold = job.stdout.splitlines()
    assert told == untold and "[" in told, job.stderr


def test_a_block_is_told_once_however_often_its_tensor_is_seen(bench):
    """The program repeats categorize() before each of its four steps. What the graph alone holds is seen anew with each graph."""
    job = bench.run("package/same_step.py", "categorized")

    told = Counter()
    for fields in map(str.split, bench.replay("dump", job.ring).stdout.splitlines()):
        if fields[2] == "block_alloc":
            told = Counter({key: count for key, count in told.items() if key[0] != fields[5]})
        elif fields[2] == "category" and "category=activation" not in fields:
            told[fields[5], fields[7]] += 1
            assert told[fields[5], fields[7]] == 1, fields
    assert len(told) > 30
