# SPDX-License-Identifier: Apache-2.0
"""The parts of a page against the other results of the same command, on every fixture: what it holds is what they say, and nothing of it is a place of the recording."""

import csv
import io
import json
import pathlib
import re
import shlex

import pytest

from conftest import TOP, Case
from page_file import Page

FIXTURES = TOP / "fixtures"
CASES = sorted(path.parent.name for path in FIXTURES.glob("*/events.txt"))
SMALL = 1 << 32  # numbers below may be sizes and counts as well as addresses


def options_of(name: str) -> list[str]:
    expect = FIXTURES / name / "expect.txt"
    lines = [line.split("#")[0].split(maxsplit=1) for line in expect.read_text().splitlines()] if expect.exists() else []
    return next((shlex.split(words[1]) for words in lines if words and words[0] == "options" and len(words) > 1), [])


REFUSED = {name for name in CASES if re.search(r"^exit [347]\b", (FIXTURES / name / "expect.txt").read_text(), re.M)}


@pytest.fixture(scope="module", params=[name for name in CASES if name not in REFUSED])
def told(request, tmp_path_factory):
    """A fixture's recording, its options and its page."""
    name = request.param
    made, options = Case(tmp_path_factory.mktemp(name), (FIXTURES / name / "events.txt").read_text()), options_of(name)
    return made, options, Page(made.page(*options))


def ledger(made, options: list[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(made.replay(made.ring, "--csv", "-", *options).stdout)))


def sums_of_blocks(page: Page) -> list[tuple[int, int]]:
    """Of each row with a device: what begin and the blocks' births and frees so far come to, and what the page says."""
    live = {row: size for row, size in enumerate(page.begin["size_bytes"]) if page.begin["state"][row] in ("block", "deferred")}
    active, told = {}, []
    for row in live:
        device = page.begin["device"][row]
        active[device] = active.get(device, 0) + live[row]
    events = page.events
    for row in range(events.rows):
        device, size = events["device"][row], events["size_bytes"][row] or 0
        if events["kind"][row] in ("block_alloc", "initial"):
            active[device] = active.get(device, 0) + size
        elif events["kind"][row] == "block_free":
            active[device] = active.get(device, 0) - size
        if device is not None:
            told.append((active.get(device, 0), page.derived["active_bytes"][row]))
    return told


def test_a_page_says_what_the_ledger_and_the_receipt_of_the_same_command_say(told):
    made, options, page = told
    assert page.receipt == made.replay(made.ring, "--json", "-", *options).stdout
    rows = {row["ticket"]: row for row in ledger(made, options)}
    if page.outline["window"]["keyframe"]:
        shared = [row for row in range(page.events.rows) if str(page.events["ticket"][row]) in rows]
        columns = ("ticket", "kind", "op", "size_bytes", "cause")
    else:
        shared, columns = range(page.events.rows), list(next(iter(rows.values()), {}))
        assert page.events.rows == len(rows) == page.outline["window"]["event_count"]
    for row in shared:
        expected = rows[str(page.events["ticket"][row])]
        assert {column: page.ledger_cell(column, row) for column in columns} == {column: expected[column] for column in columns}


def test_every_ordinal_of_a_page_has_its_entry_among_the_names(told):
    _, _, page = told
    for table in (page.events, page.begin):
        for column, members in (("site", "sites"), ("phase", "phases"), ("library", "libraries"), ("dimension", "dimensions")):
            used = set(table.columns.get(column, [])) - {None, 0}
            assert used <= {entry[column] for entry in page.names[members]}
    frames = len(page.names["frames"])
    assert all(0 <= frame < frames for site in page.names["sites"] for frame in site.get("frames", []))


def test_no_address_of_a_recording_is_a_number_of_its_page(told):
    made, options, page = told
    dump = made.replay("dump", made.ring).stdout
    addresses = {int(text, 16) for text in re.findall(r"0x([0-9a-f]+)", dump)}
    numbers = {cell for table in page.tables() for column in table.columns.values() for cell in column if isinstance(cell, int)}
    # The largest number of bytes that a fixture writes, and what the format calls not known.
    stated = {int(row[column]) for row in ledger(made, options) for column in row if column.endswith("_bytes") and column != "offset_bytes" and row[column]}
    assert {number for number in numbers & addresses if number > SMALL} - stated == set()


def test_live_blocks_add_up_from_begin_and_events_to_the_derived_sums(told):
    _, _, page = told
    if any(json.loads(page.receipt)["capture"]["tolerated"].values()):
        return  # records contradict each other, and the ledger follows the later one
    if set(page.derived["deferred_bytes"]) - {None, 0}:
        return  # a block is waited for beyond its free
    assert [row for row in sums_of_blocks(page) if row[0] != row[1]] == []


def test_places_keep_the_distances_of_what_lies_in_one_segment_and_begin_on_whole_units(told):
    _, _, page = told
    bases: dict[int, set[int]] = {}
    for row in range(page.events.rows):
        place, segment, offset = (page.events[name][row] for name in ("place_bytes", "segment", "offset_bytes"))
        if place is not None and segment is not None:
            bases.setdefault(segment, set()).add(place - offset)
    expandable = {page.events["segment"][row] for row in range(page.events.rows) if page.events["op"][row] in ("cuMemMap", "cuMemUnmap")}
    assert [segment for segment, found in bases.items() if len(found) != 1 and segment not in expandable] == []


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_recording_that_is_refused_leaves_no_page(case, name: str):
    made, options = case((FIXTURES / name / "events.txt").read_text()), options_of(name)
    done = made.replay(made.ring, "--html", "page.html", *options)
    assert done.returncode in (3, 4, 7) and done.stdout == "" and not (made.folder / "page.html").exists()


@pytest.mark.parametrize("name", ["live_set", "two_devices", "expandable"])
def test_the_same_command_gives_the_same_bytes(case, name: str):
    made = case((FIXTURES / name / "events.txt").read_text())
    first = made.page().read_bytes()
    assert made.page().read_bytes() == first


@pytest.mark.parametrize("start", [2**53 - 5, 2**53 - 1, 2**53 + 300, 2**62])
def test_tickets_beyond_what_a_column_holds_are_told_as_exactly(case, start: int):
    lines = ["memsnap-events 1", f"header start={start}", "segment s1 600MiB"]
    lines += [f"alloc b{at} s1+{at * 20}MiB {1 + at}MiB site={1 + at}" for at in range(8)] + [f"free b{at}" for at in range(0, 8, 2)]
    made = case("\n".join([*lines, "failing 700MiB total=1GiB free=300MiB", ""]))
    page, rows = Page(made.page()), ledger(made, [])
    assert page.events.rows == len(rows) and start in page.events["ticket"]
    for row, expected in enumerate(rows):
        assert {column: page.ledger_cell(column, row) for column in expected} == expected
