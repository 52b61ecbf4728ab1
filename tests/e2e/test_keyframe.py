# SPDX-License-Identifier: Apache-2.0
"""The failure keyframe alone yields the verdict of the whole ring: the job catches the failure and laps its ring three times."""

import pathlib
import shutil

import pytest

import ring_file


def recorded(bench, cause: str, ring_mb: int) -> pathlib.Path:
    """Without samples: whether one comes before the failure is a matter of time, and two jobs are compared."""
    job = bench.run("laps.py", cause, simcuda=("--total", "4GiB"), MEMSNAP_SAMPLE_MS="0", MEMSNAP_RING_MB=str(ring_mb), MEMSNAP_OUT=f"{cause}-{ring_mb}.bin", MEMSNAP_KEEP="always")
    assert (job.code, job.stdout) == (0, "caught\n"), job.stderr
    return bench.folder / f"{cause}-{ring_mb}.bin"


def verdict(bench, ring: pathlib.Path) -> dict:
    """What must not depend on where the evidence was read."""
    replay = bench.replay(ring, receipt=True)
    assert replay.code == 10, replay.stdout + replay.stderr
    evidence = replay.receipt["evidence"]
    return {
        "primary": replay.receipt["verdict"]["primary"],
        "fragmentation": replay.receipt["verdict"]["hypotheses"]["fragmentation"]["status"],
        "live_set": replay.receipt["verdict"]["hypotheses"]["live_set"]["status"],
        "external": replay.receipt["verdict"]["hypotheses"]["external"]["status"],
        # What is known of steps depends on the ring that is left; a free of an old block takes two tickets, and old is a share of the ring.
        "qualifiers": sorted(set(replay.receipt["verdict"]["qualifiers"]) - {"boundaries_lapped", "too_few_boundaries"}),
        "failure": {name: value for name, value in evidence["failure"].items() if name != "ticket"},
        "ledgers": evidence["ledgers"],
        "extents": [row[:-1] for row in evidence["extents"]["rows"]],  # the last cell is a ticket
        "seen_in": replay.receipt["capture"]["failure_seen_in"],
    }


def without_place(found: dict) -> dict:
    return {name: value for name, value in found.items() if name != "seen_in"}


def wipe(ring: pathlib.Path, *names: str) -> None:
    """As if these areas had been lost: zero is `never written` in each of them."""
    with ring.open("r+b") as file:
        for name in names:
            area = ring_file.areas(ring)[name]
            file.seek(area.offset)
            file.write(bytes(area.size))


@pytest.mark.parametrize("cause", ["fragmentation", "live_set"])
def test_a_ring_lapped_three_times_gives_the_verdict_of_one_that_was_not(bench, cause):
    whole, lapped = recorded(bench, cause, 64), recorded(bench, cause, 1)
    assert ring_file.head(lapped) > 3 * ring_file.areas(lapped)["ring"].entry_count

    from_window, from_keyframe = verdict(bench, whole), verdict(bench, lapped)

    assert (from_window["primary"], from_window["seen_in"], from_keyframe["seen_in"]) == (cause, "window", "keyframe")
    assert without_place(from_keyframe) == without_place(from_window)


def test_header_boundaries_and_keyframes_are_enough(bench):
    ring = recorded(bench, "fragmentation", 1)
    before = verdict(bench, ring)
    alone = bench.folder / "alone.bin"
    shutil.copy(ring, alone)

    wipe(alone, "ring", "table", "pinned")

    assert verdict(bench, alone) == before


def test_without_the_keyframe_a_lapped_failure_is_not_invented(bench):
    """The keyframe is what the verdict above came from."""
    ring = recorded(bench, "fragmentation", 1)
    wipe(ring, "keyframes")

    replay = bench.replay(ring, receipt=True)

    assert replay.code in (0, 11)
    assert replay.receipt["verdict"]["primary"] is None
