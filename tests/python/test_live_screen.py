# SPDX-License-Identifier: Apache-2.0
"""What `memsnap top` draws of what was read: every size of terminal, every state of a job, names that want to do harm."""

import copy

import pytest

from memsnap.live import _lanes, _screen, _text

GIB, MIB = 1 << 30, 1 << 20

DEVICE = {
    "device": 0, "active_bytes": 2 * GIB, "reserved_bytes": 3 * GIB, "reserved_then_bytes": 3 * GIB, "report_age_ns": 0, "blocks_count": 12,
    "total_bytes": 8 * GIB, "free_bytes": 4 * GIB, "device_age_ns": 400_000_000, "others_bytes": GIB // 2, "others_count": 1, "others_age_ns": 0,
    "outside_bytes": 0, "cap_bytes": None, "available_bytes": 7 * GIB, "margin_bytes": 5 * GIB, "peak_active_bytes": 3 * GIB,
    "peak_reserved_bytes": 3 * GIB, "peak_outside_bytes": GIB,
    "trend": {"family": "step", "points_count": 9, "steps_count": 8, "change_bytes": 32 * MIB, "bytes_per_step": 4 * MIB, "growing": True, "full_in_steps": 1024, "full_from": "peak"},
    "sites": [{"bytes": GIB, "blocks_count": 9, "token": "site-1", "block_bytes": None, "label": "keep (a.py:3)"}],
    "history": [[0, number * GIB // 8, 3 * GIB, 4 * GIB] for number in range(16)],
}  # fmt: skip
VIEW = {
    "schema": "memsnap.live.v1", "file": "/jobs/ring-7.bin", "shown": "/jobs/ring-7.bin", "pid_here": 7, "ring_id": "00", "pid": 7, "alive": True,
    "state": "recording", "exit_status": None, "job": "ab", "rank": 3, "local_rank": 3, "world_size": 8, "failures_count": 0, "counters": {},
    "trouble": "none", "devices": [DEVICE],
}  # fmt: skip


def view(devices=None, **changes) -> dict:
    made = copy.deepcopy(VIEW) | changes
    if devices is not None:
        made["devices"] = devices
    return made


def device(**changes) -> dict:
    return copy.deepcopy(DEVICE) | changes


def drawn(views: list, width: int = 79, height: int = 24, verdict=None, letters=_text.UTF8, **state) -> list:
    screen = _screen.State(**state)
    screen.history.take(_lanes.rows_of(views))
    return [line.text for line in _screen.draw(views, verdict, screen, width, height, letters)]


def text(*arguments, **options) -> str:
    return "\n".join(drawn(*arguments, **options))


def test_a_small_terminal_shows_a_job_its_lanes_its_margin_and_its_sites():
    lines = drawn([view()])
    assert len(lines) == 24 and all(_text.width(line) <= 79 for line in lines)
    row = lines[2].split()
    assert row[:8] == ["7", "3", "0", "recording", "–", "2.00", "5.00", "+4.0"]
    assert "≈1,024" in row
    shown = "\n".join(lines)
    assert "5.00 GiB  = 7.00 GiB available − 2.00 GiB active" in shown
    assert "+4.0 MiB a step over 8 steps: full in about 1,024 steps" in shown
    assert "keep (a.py:3)" in shown and lines[-1].startswith("q quit")


def test_the_lanes_add_up_to_the_card_also_when_pytorch_reserved_more_since_the_device_was_asked():
    lanes = _lanes.lanes_of(device(reserved_bytes=4 * GIB, active_bytes=4 * GIB))
    assert lanes == _lanes.Lanes(active=4 * GIB, cached=0, outside=GIB // 2, others=GIB // 2, free=3 * GIB)
    assert sum(lanes.parts()) == 8 * GIB


@pytest.mark.parametrize("size", [(20, 3), (40, 5), (79, 24), (119, 40), (300, 100), (1, 1)])
def test_no_size_of_terminal_gets_more_than_it_has_room_for(size):
    views = [view(file=f"/jobs/{number}.bin", pid=number, pid_here=number) for number in range(30)]
    lines = drawn(views, *size)
    assert len(lines) <= size[1] and all(_text.width(line) <= size[0] for line in lines)


def test_more_jobs_than_rows_scroll_with_the_selection_and_say_how_many_are_not_shown():
    views = [view(file=f"/jobs/{number}.bin", pid=1000 + number, pid_here=None) for number in range(30)]
    lines = drawn(views, sort="pid", selected=("/jobs/29.bin", 0))
    assert any("1029" in line for line in lines[2:12]) and any("more rows" in line for line in lines)


def test_the_bar_gives_each_lane_that_is_not_nothing_a_column():
    bar = _text.bar([1, 1, 1, 0, 8 * GIB], 8 * GIB, 8, _text.UTF8)
    assert bar == "█▓▒·····"
    assert _text.bar([0, 0, 0, 0, 0], 8 * GIB, 8, _text.UTF8) == " " * 8


def test_the_job_with_least_left_comes_first_and_jobs_that_ended_last():
    views = [
        view([device(margin_bytes=3 * GIB)], pid=1, pid_here=1, file="1"),
        view([device(margin_bytes=1 * GIB)], pid=2, pid_here=2, file="2"),
        view([device(margin_bytes=0)], pid=3, pid_here=3, file="3", state="ended", exit_status=0, alive=False),
    ]
    assert [line.split()[0] for line in drawn(views)[2:5]] == ["2", "1", "3"]
    soon = dict(DEVICE["trend"], full_in_steps=9)
    views[0]["devices"][0]["trend"] = soon
    assert drawn(views, sort="full in")[2].split()[0] == "1"


def test_no_growth_no_forecast():
    flat = dict(DEVICE["trend"], bytes_per_step=0, growing=False, full_in_steps=None)
    shown = text([view([device(trend=flat)])])
    assert "0 B a step over 8 steps: not called growth" in shown and "full in" not in shown.lower().split("\n", 2)[2]
    assert "not known: no comparable steps yet" in text([view([device(trend=None)])])


def test_a_forecast_from_the_end_of_a_step_says_that_its_peak_is_not_counted_in():
    shown = text([view([device(trend=dict(DEVICE["trend"], full_from="point"))])], width=119)
    assert "<1,024" in shown and "full in less than about 1,024 steps, the peak within one not counted in" in shown


def test_a_job_that_ran_out_of_memory_says_why_and_how_to_read_it():
    ended = view(state="ended", exit_status=1, alive=False, failures_count=1)
    assert "ended with exit status 1 after 1 failed allocation; read it: memsnap-replay /jobs/ring-7.bin" in text([ended], width=119)
    assert "out of memory: fragmentation; read it:" in text([ended], width=119, verdict={"primary": "fragmentation"})
    assert "the evidence does not name one cause" in text([ended], width=119, verdict={"primary": None})
    assert "killed, or _exit" in text([view(state="killed", alive=False)])


def test_a_dormant_job_says_how_to_arm_it():
    assert "cold, nothing is kept; to record: memsnap arm 7" in text([view([], state="cold")])
    assert "memsnap arm 7" in text([view(state="standby")])


def test_a_card_that_was_never_asked_has_no_margin_and_says_so():
    unasked = device(total_bytes=None, free_bytes=None, available_bytes=None, margin_bytes=None, device_age_ns=None, trend=dict(DEVICE["trend"], full_in_steps=None, full_from=None))
    shown = text([view([unasked])])
    assert "the card was not asked, so what is left is not known" in " ".join(shown.split())


def test_a_recording_that_cannot_be_read_has_its_row_and_its_reason():
    broken = {"file": "/jobs/x.bin", "shown": "/jobs/x.bin", "pid_here": None, "error": {"detail": "is truncated"}}
    shown = text([broken])
    assert "unreadable" in shown and "is truncated" in shown


def test_a_process_that_cannot_be_seen_from_here_is_marked():
    assert "recording?" in text([view(alive=None, pid_here=None)])
    assert "recording?" not in text([view(alive=None, pid_here=7)])


@pytest.mark.parametrize("letters", [_text.UTF8, _text.ASCII])
def test_a_name_cannot_move_the_cursor_or_turn_the_text_round(letters):
    evil = "a\x1b[2Jb\u202ec\u0085d\nе\ud800" + "宽" * 200
    site = dict(DEVICE["sites"][0], label=evil)
    for line in drawn([view([device(sites=[site])], shown=evil, file="/jobs/" + evil)], letters=letters):
        assert _text.width(line) <= 79 and not set(line) & set("\x1b\u202e\u0085\n\r\ud800")
        assert letters is _text.UTF8 or line.isascii()


def test_without_utf8_all_of_it_is_ascii():
    assert text([view()], letters=_text.ASCII, width=119).isascii()
    assert text([view()], letters=_text.ASCII, help=True).isascii()
