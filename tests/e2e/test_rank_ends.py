# SPDX-License-Identifier: Apache-2.0
"""What a job's report says of ranks whose end is not known, of several recordings of one rank, and of what cannot be read."""

import re

from conftest import REPLAY
from test_ranks import SECOND_NS, encode, first_line, job_receipt, replay, roles
from this_host import as_another


def test_a_rank_that_cannot_be_seen_from_here_is_not_called_killed_and_did_not_follow(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=4 * SECOND_NS)
    encode(folder / "b.bin", 1, host_key=2)  # the first pid namespace has one inode on all hosts
    encode(folder / "c.bin", 2, pid_namespace=4026531999)  # another container
    encode(folder / "d.bin", 3, host_key=2, last_ns=SECOND_NS)
    encode(folder / "e.bin", 4, world=6, host_key=2, end="exit 1")
    encode(folder / "f.bin", 5, world=6)

    receipt = job_receipt(folder)
    assert [(process["role"], process["order"]) for process in receipt["processes"]] == [
        ("failed_first", "none"), ("no_end_seen", "after"), ("no_end_seen", "after"), ("no_end_seen", "untold"), ("followed", "after"), ("followed", "after"),
    ]
    screen = replay(folder).stdout
    assert len(re.findall(r"no end seen, lived on after it", screen)) == 2 and len(re.findall(r"killed", screen)) == 1


def test_a_rank_that_was_disarmed_is_not_called_killed_and_has_no_level_of_later(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=4 * SECOND_NS)
    encode(folder / "cold.bin", 1, events="disarm")
    # In standby the recorder goes on with its clock.
    encode(folder / "standby.bin", 2, before="standby", events="arm\nalloc b s+300MiB 1MiB\ndisarm")
    encode(folder / "armed.bin", 3, before="standby", events="arm\nalloc b s+300MiB 1MiB")

    processes = job_receipt(folder)["processes"]
    assert [process["role"] for process in processes] == ["failed_first", "disarmed", "followed", "followed"]
    assert [process["levels"]["active_bytes"] is not None for process in processes] == [True, False, False, True]
    assert "disarmed, its end not recorded" in replay(folder).stdout


def test_a_rank_that_was_armed_again_is_one_process_and_keeps_the_failure_of_its_earlier_recording(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS, superseded=1)
    encode(folder / "b.bin", 0, offset_ns=10 * SECOND_NS, end="exit 3")
    encode(folder / "c.bin", 1, end="exit 0", superseded=1)
    encode(folder / "d.bin", 1, offset_ns=10 * SECOND_NS, end="exit 0")

    receipt = job_receipt(folder)
    assert [(one["rank"], one["role"], one["incident"], one["exit_status"], one["earlier_count"]) for one in receipt["processes"]] == [
        (0, "failed_first", "survived", 3, 1), (1, "ended", "none", 0, 1),
    ]
    assert receipt["job"]["process_count"] == 2
    screen = replay(folder, code=10).stdout
    assert first_line(screen, "MORE").endswith("a.bin") and "processes that were armed again: ranks 0-1" in screen


def test_a_recording_that_is_there_twice_is_one_rank(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1)
    (folder / "copy").mkdir()
    (folder / "copy/a.bin").write_bytes((folder / "a.bin").read_bytes())
    (folder / "latest.bin").symlink_to("b.bin")

    assert roles(job_receipt(folder)) == ["failed_first", "followed"]
    assert "2 other files of a recording that is here already" in replay(folder).stdout
    named = replay(folder / "a.bin", folder / "b.bin", folder / "latest.bin", code=10).stdout
    assert "  2 processes" in named and "1 other file of a recording that is here already" in named


def test_a_folder_that_may_not_be_listed_is_a_line_of_the_report(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "closed/b.bin", 1)
    (folder / "closed").chmod(0)
    partly, nothing = as_another([REPLAY, folder]), as_another([REPLAY, folder / "closed"])
    (folder / "closed").chmod(0o700)

    assert partly.returncode == 10 and re.search(r"unread +\S*closed: cann", partly.stdout), partly.stdout
    assert nothing.returncode == 5 and "cannot be listed" in nothing.stderr


def test_how_far_failures_are_apart_is_told_only_where_each_has_a_time(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS + 50_000_000, host_key=2)
    encode(folder / "b.bin", 1, failed_ns=2 * SECOND_NS)
    assert "they are 50" in replay(folder).stdout
    encode(folder / "c.bin", 2, failed_ns=2 * SECOND_NS, anchors=False)
    assert "which was first cannot be told; below" in " ".join(replay(folder).stdout.split())
    assert job_receipt(folder)["first"] == {"clocks_compared": True, "process": 2, "rivals": [1, 3], "told": False}
