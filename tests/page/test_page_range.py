# SPDX-License-Identifier: Apache-2.0
"""Which events a page holds one by one, and what it says of those that it does not."""

import csv
import io
import json

import pytest

from page_file import Page, Table

GIB, MIB = 1 << 30, 1 << 20
STEPS = 400
BEHIND = 100


def long_job() -> str:
    """Steps that allocate and free, with answers of the device, samples and another library; then a failure, and events after it."""
    lines = ["memsnap-events 1", "header ring_records=4096", "segment s1 600MiB", "alloc weights s1+0 100MiB site=9", "mem_info total=1GiB free=400MiB"]
    for step in range(STEPS):
        lines += [f"alloc a s1+100MiB {1 + step % 7}MiB site={1 + step}", "alloc b s1+200MiB 2MiB site=3", "free a", "free b"]
        lines += ["step"] if step % 20 == 0 else []
        if step % 50 == 10:
            lines += ["process_sample own=640MiB others=16MiB count=1", f"device_sample total=1GiB free={390 - step // 50}MiB"]
    lines += ["library 2", "call nccl cudaMalloc 64MiB", "library 0", "failing 500MiB total=1GiB free=300MiB"]
    return "\n".join(lines + ["mark later"] * BEHIND) + "\n"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def job(case):
    return case(long_job())


@pytest.mark.parametrize("most", [50, 160, 1000, 1700])
def test_the_events_around_the_failure_are_told_as_the_ledger_has_them(job, most: int):
    ledger = rows(job.replay(job.ring, "--csv", "-").stdout)
    page = Page(job.page("--html-events", most))
    window = page.outline["window"]
    tickets = page.events["ticket"]
    failure = json.loads(page.receipt)["evidence"]["failure"]["ticket"]

    assert most - 16 <= page.events.rows <= most and window["exact_event_count"] == page.events.rows
    assert window["event_count"] == len(ledger) and window["exact_first_ticket"] == tickets[0]
    assert failure in tickets and sum(ticket > failure for ticket in tickets) == min(most // 8, BEHIND)
    expected = {row["ticket"]: row for row in ledger}
    for row, ticket in enumerate(tickets):
        assert {column: page.ledger_cell(column, row) for column in expected[str(ticket)]} == expected[str(ticket)]


def test_a_page_with_room_for_all_events_begins_where_the_recording_does(job):
    page = Page(job.page())
    assert page.outline["window"]["exact_first_ticket"] == page.events["ticket"][0] == 0
    assert set(page.begin["state"]) <= {"memory"}


def live_blocks(page: Page, until: int) -> dict[int, int]:
    """By birth, before the event of a ticket."""
    live = {birth: size for state, birth, size in zip(page.begin["state"], page.begin["allocation"], page.begin["size_bytes"]) if state == "block"}
    for ticket, kind, birth, size in zip(*(page.events[name] for name in ("ticket", "kind", "allocation", "size_bytes"))):
        if ticket >= until:
            break
        if kind == "block_alloc":
            live[birth] = size
        elif kind == "block_free":
            del live[birth]
    return live


@pytest.mark.parametrize("most", [50, 333, 1000])
def test_what_was_live_before_the_first_told_event_is_in_begin(job, most: int):
    whole, page = Page(job.page()), Page(job.page("--html-events", most))
    assert live_blocks(page, page.events["ticket"][0]) == live_blocks(whole, page.events["ticket"][0]) != {}
    weights = page.begin["size_bytes"].index(100 * MIB)
    assert page.names["sites"][page.begin["site"][weights] - 1]["site"] == page.begin["site"][weights] == whole.events["site"][whole.events["size_bytes"].index(100 * MIB)]


def test_what_the_events_before_said_of_the_device_is_carried_into_the_page(job):
    whole, page = Page(job.page()), Page(job.page("--html-events", 600))
    said = {state: (size, ticket) for state, size, ticket in zip(page.begin["state"], page.begin["size_bytes"], page.begin["allocation"]) if state not in ("block", "segment")}
    before = [row for row, ticket in enumerate(whole.events["ticket"]) if ticket < page.events["ticket"][0]]
    last = max(row for row in before if whole.events["kind"][row] == "device_sample")
    report = max(row for row in before if whole.events["reserved_bytes"][row] is not None)

    assert said["answer"] == (GIB, whole.events["ticket"][last])
    assert said["others"] == said["others_then"] == (16 * MIB, None)
    assert said["residual"] == (GIB - whole.events["device_free_bytes"][last] - 600 * MIB, None)
    assert said["totals"] == (whole.events["reserved_bytes"][report], whole.events["ticket"][report])
    assert said["gap"] == (0, None)


def test_a_page_without_a_failure_ends_with_the_last_event(case):
    job = case("\n".join(line for line in long_job().splitlines() if not line.startswith("failing")))
    page = Page(job.page("--html-events", 100))
    assert page.events["ticket"][-1] == page.outline["window"]["end_ticket"] - 1 and 84 <= page.events.rows <= 100


def test_a_failure_that_only_a_keyframe_holds_is_told_in_the_keyframes_window(case):
    later = "\n".join(f"mark later{at}" for at in range(64))
    job = case("memsnap-events 1\nheader ring_records=32\nsegment s1 800MiB\nalloc w s1+0 784MiB site=1\nstep\n"
               f"alloc x s1+784MiB 16MiB site=2\nfree x\nfailing 100MiB total=1GiB free=24MiB\nkeyframe\n{later}\n")
    page = Page(job.page())
    failure = json.loads(page.receipt)["evidence"]["failure"]["ticket"]

    assert page.outline["window"]["keyframe"] and failure in page.events["ticket"]
    assert max(page.events["ticket"]) < 40
    assert {784 * MIB} <= set(page.begin["size_bytes"]) | set(page.events["size_bytes"])


def test_each_device_has_its_own_sums(case):
    job = case("memsnap-events 1\nsegment s0 100MiB\nalloc a s0+0 10MiB site=1\ndevice 1\nsegment s1 200MiB\nalloc b s1+0 30MiB site=2\n"
               "device 0\nalloc c s0+10MiB 4MiB site=1\ndevice 1\nfree b\n")
    page = Page(job.page())
    told = {(device, active) for device, active in zip(page.events["device"], page.derived["active_bytes"])}
    assert {(0, 10 * MIB), (0, 14 * MIB), (1, 30 * MIB), (1, 0)} <= told
    assert page.outline["devices"] == [0, 1]


def test_numbers_beyond_a_double_stand_beside_their_column_in_full(case):
    huge = (1 << 53) + 512
    job = case(f"memsnap-events 1\nsegment s1 2MiB\nalloc a s1+0 1MiB site=1\nnote batch {-(1 << 60) - 1}\nlibrary 2\ncall x cudaMalloc {huge}\nfree x\ncall y cudaMalloc 512\n")
    page = Page(job.page())
    ledger = rows(job.replay(job.ring, "--csv", "-").stdout)

    assert str(huge) in [text for _, text in page.events.head["large"]["size_bytes"]]
    assert str(huge) in [text for _, text in page.derived.head["large"]["own_outside_bytes"]]
    assert page.events.head["large"]["value"] == [[page.events["kind"].index("note"), str(-(1 << 60) - 1)]]
    for row, expected in enumerate(ledger):
        assert {column: page.ledger_cell(column, row) for column in expected} == expected


def test_an_expandable_segment_that_grows_at_both_ends_keeps_its_places(case):
    maps = "".join(f"create h{at} 2MiB\nmap m{at} va+{2 * at}MiB h{at}\n" for at in (4, 5, 3, 2, 6))
    job = case(f"memsnap-events 1\nheader expandable\nreserve va 64MiB\n{maps}alloc a va+4MiB 10MiB site=1\nfree a\n")
    page = Page(job.page())
    places = {ticket: place for ticket, place, op in zip(*(page.events[name] for name in ("ticket", "place_bytes", "op"))) if op == "cuMemMap" and place is not None}
    block = next(place for place, kind in zip(page.events["place_bytes"], page.events["kind"]) if kind == "block_alloc")

    assert sorted(place - block for place in places.values()) == [2 * MIB * at for at in range(5)]
    assert page.derived["segment_bytes"][-1] == 10 * MIB
    made = {op: [] for op in ("cuMemCreate", "cuMemMap")}
    for kind, op, memory in zip(*(page.events[name] for name in ("kind", "op", "memory"))):
        if kind == "ok" and op in made:
            made[op].append(memory)
    assert made["cuMemMap"] == made["cuMemCreate"] and None not in made["cuMemMap"] and len(set(made["cuMemMap"])) == 5


def test_levels_cover_the_whole_window_whatever_is_told_one_by_one(job):
    whole, page = Page(job.page()), Page(job.page("--html-events", 50))
    assert page.parts["levels"] == whole.parts["levels"]
    levels: Table = page.levels
    assert sum(levels["event_count"]) == page.outline["window"]["event_count"]
    assert max(value for value in levels["active_greatest"] if value is not None) == max(value for value in whole.derived["active_bytes"] if value is not None)


LATE = """memsnap-events 1
header start_mode=late channel=attached
segment s1 100MiB
alloc a s1+0 50MiB allocated=700MiB reserved=800MiB
initial_segment s2 700MiB
initial w s2+0 600MiB
"""


@pytest.mark.parametrize("failed", [True, False])
def test_a_page_says_from_where_on_births_are_known_also_when_it_begins_later(case, failed: bool):
    steps = "".join(f"alloc b s1+50MiB {1 + step % 7}MiB site=2\nfree b\nstep\n" for step in range(200))
    job = case(LATE + steps + ("failing 100MiB total=1GiB free=24MiB\n" if failed else ""))
    page = Page(job.page("--html-events", 40))
    told = [int(row["ticket"]) for row in rows(job.replay(job.ring, "--csv", "-").stdout) if row["kind"].startswith("initial")]
    assert page.outline["window"]["births_known_from_ticket"] == max(told) + 1 < page.events["ticket"][0]


def test_where_the_recording_began_with_the_job_all_births_are_known(job):
    assert Page(job.page()).outline["window"]["births_known_from_ticket"] == 0
