# SPDX-License-Identifier: Apache-2.0
"""Canaries: real PyTorch jobs that were started dormant, on the simulated GPU, armed and disarmed from outside while they train."""

import json
import time

import pytest

from running_jobs import start  # noqa: F401  (a fixture)


def state(job) -> str:
    (row,) = json.loads(job.memsnap("status", job.pid, "--json").stdout)
    return row["state"]


@pytest.mark.parametrize("dormant, disarmed", [("cold", "disarmed"), ("standby", "standby")])
def test_a_canary_is_armed_hit_disarmed_and_diagnosed_with_four_commands(start, bench, dormant, disarmed):
    job = start("leaking", record=True, MEMSNAP_ARM=dormant, MEMSNAP_QUIET="1")
    assert state(job) == dormant

    armed = job.memsnap("arm", job.pid, "--for", "5m")
    assert armed.returncode == 0, armed.stderr
    assert state(job) == "armed"
    (bench.folder / "finish").touch()
    assert job.job.stdout.readline() == "out of memory\n"
    done = job.memsnap("disarm", job.pid)
    assert done.returncode == 0 and state(job) == disarmed, done.stderr
    ring = done.stdout.rstrip("\n").split("  ")[2]
    replay = bench.replay(ring, receipt=True)

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "retention", replay.stdout + replay.stderr
    assert job.end()[::2] == (7, "")


def test_a_canary_says_and_does_what_the_same_job_does_without_the_recorder(start):
    alone = start().end()
    job = start(record=True, MEMSNAP_ARM="cold")

    for _ in range(2):
        assert job.memsnap("arm", job.pid).returncode == 0
        assert job.memsnap("disarm", job.pid).returncode == 0
    assert job.end() == alone


def test_a_time_box_ends_by_itself_and_what_was_recorded_stays(start, bench):
    job = start(record=True, MEMSNAP_ARM="cold")

    assert job.memsnap("arm", job.pid, "--for", "1s").returncode == 0
    deadline = time.monotonic() + 60
    while state(job) != "disarmed" and time.monotonic() < deadline:
        time.sleep(0.2)
    (row,) = json.loads(job.memsnap("status", job.pid, "--json").stdout)
    assert row["state"] == "disarmed" and row["armed_until"] is None and row["event_count"] > 0
    job.end()


def test_the_ranks_of_a_folder_are_armed_together(start, bench):
    jobs = [start(record=True, MEMSNAP_ARM="cold", RANK=str(rank)) for rank in range(2)]

    done = jobs[0].memsnap("arm", bench.folder)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2, done.stderr
    rows = json.loads(jobs[0].memsnap("status", bench.folder, "--json").stdout)
    assert sorted((row["rank"], row["state"]) for row in rows) == [(0, "recording"), (1, "recording")]
    for job in jobs:
        job.end()
