# SPDX-License-Identifier: Apache-2.0
"""docs/fleet.md against the columns and reasons that there are."""

import pathlib
import re

from fleet_run import TOP

from memsnap.fleet import _columns

DOCUMENT = (TOP / "docs/fleet.md").read_text()
TABLES = (
    ("### receipts", _columns.RECEIPTS),
    ("Rows of `hypotheses`:", _columns.HYPOTHESIS),
    ("Rows of `sites`:", _columns.SITE),
    ("Rows of `near_misses`:", _columns.NEAR_MISS),
    ("Rows of `libraries`:", _columns.LIBRARY),
    ("### jobs", _columns.JOBS),
    ("Rows of `processes`:", _columns.PROCESS),
    ("### rejected", _columns.REJECTED),
)


def _type(column) -> str:
    text = "list of rows" if column.nested else str(_columns.arrow_type(column))
    return text.replace("list<item: string>", "list of string").replace("[day]", "")


def test_every_column_is_in_the_document_with_its_type_and_source():
    for heading, columns in TABLES:
        table = re.search(rf"^{re.escape(heading)}\n\n\| column.*\n\|-.*\n((?:\|.*\n)+)", DOCUMENT, re.M).group(1)
        rows = [[cell.strip() for cell in line.strip("|").split("|")][:3] for line in table.splitlines()]
        assert rows == [[f"`{one.name}`", _type(one), f"`{'.'.join(one.path)}`" if one.path else "derived"] for one in columns], heading


def test_every_reason_of_a_rejection_is_in_the_document():
    used = set()
    for path in (TOP / "python/memsnap/fleet").glob("*.py"):
        used |= set(re.findall(r'(?:Rejected|_reject)\((?:source\.path, )?"(\w+)"', pathlib.Path(path).read_text()))
    used |= {"digest_receipt", "digest_job", "not_a_recording", "corrupt_recording"}
    told = re.search(r"the others are taken:\n`([\w ]+)`", DOCUMENT).group(1).split()
    assert sorted(used) == sorted(told)
