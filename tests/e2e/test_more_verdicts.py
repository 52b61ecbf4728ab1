# SPDX-License-Identifier: Apache-2.0
"""The verdict on jobs with one known peculiarity each (programs/cases.py)."""

import pytest

MIB = 1024**2
GIB = 1024 * MIB
FREE_WHEN_FULL_BYTES = 8 * GIB - (300 + 7800) * MIB  # the card, its context, and 53 blocks of 50 to 250 MiB
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def replayed(bench, case: str, simcuda: tuple[str, ...] = (), code: int = 1, **environment: str):
    """Runs a case and replays it. The job ends as expected: with PyTorch's own error, or well."""
    job = bench.run("cases.py", case, simcuda=("--total", "8GiB", *simcuda), **environment)
    assert job.code == code and (code == 0 or "out of memory" in job.stderr), job.stderr
    return bench.replay(job.ring, receipt=True)


def statuses(replay) -> dict[str, str]:
    return {name: finding["status"] for name, finding in replay.receipt["verdict"]["hypotheses"].items()}


def test_a_failure_that_the_job_caught_and_repeated_with_success_is_survived(bench):
    replay = replayed(bench, "survived", code=0)

    assert replay.code == 10
    verdict = replay.receipt["verdict"]
    assert verdict["primary"] == "live_set" and "survived" in verdict["qualifiers"] and "fatal" not in verdict["qualifiers"]


def test_a_fitting_hole_that_a_deferred_free_left_is_not_called_fragmentation(bench):
    """The allocator waited for the freed block and did not look again. Whose stream the hole is of, no tap of this build tells."""
    replay = replayed(bench, "deferred_free", SIMCUDA_PENDING_EVENTS="1")

    assert replay.code == 11 and replay.receipt["verdict"]["primary"] is None
    assert "fit_unexplained" in replay.receipt["verdict"]["qualifiers"]
    assert statuses(replay)["fragmentation"] == "undecidable" and statuses(replay)["live_set"] == "rejected"
    ledgers = replay.receipt["evidence"]["ledgers"]
    assert ledgers["largest_free_extent_bytes"] >= replay.receipt["evidence"]["failure"]["request_bytes"]


def test_a_memory_fraction_is_the_cap_that_the_request_did_not_fit_under(bench):
    replay = replayed(bench, "capped")

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "live_set"
    assert "cap" in replay.receipt["verdict"]["qualifiers"] and statuses(replay)["fragmentation"] == "rejected"
    assert replay.receipt["evidence"]["ledgers"]["device_free_bytes"] > 5 * GIB


def test_a_request_larger_than_the_card_says_so(bench):
    replay = replayed(bench, "larger_than_card")

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "live_set"
    assert "larger_than_card" in replay.receipt["verdict"]["qualifiers"]


def test_a_driver_that_refuses_although_the_device_has_room_is_the_answer_itself(bench):
    replay = replayed(bench, "driver_refused", simcuda=("--refuse", "0@bytes=2GiB"))

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] is None
    assert "driver_refused" in replay.receipt["verdict"]["qualifiers"]
    assert set(statuses(replay).values()) == {"rejected"}


@pytest.mark.parametrize("case, environment, free_bytes", [
    ("full", {}, FREE_WHEN_FULL_BYTES),
    ("full", EXPANDABLE, FREE_WHEN_FULL_BYTES),
    ("full", ASYNC, FREE_WHEN_FULL_BYTES),
    ("full_watched", UNCACHED, None),  # asked before each request, but not after the refusal
], ids=["native", "expandable-segments", "cudaMallocAsync", "without-cache"])
def test_a_card_full_of_blocks_in_use_is_live_set_pressure_whatever_the_allocator(bench, case, environment, free_bytes):
    replay = replayed(bench, case, **environment)

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "live_set", replay.stdout
    failure, ledgers = replay.receipt["evidence"]["failure"], replay.receipt["evidence"]["ledgers"]
    assert failure["device"] == 0 and failure["request_bytes"] == 200 * MIB
    assert ledgers["active_bytes"] == 7800 * MIB
    assert ledgers["device_free_bytes"] == free_bytes
    assert statuses(replay)["retention"] == "undecidable", "without steps all that is live may have been retained"


def test_without_a_cache_and_without_a_look_at_the_card_nothing_is_guessed(bench):
    """Uncached PyTorch never asks how large the card is, and without samples nobody does."""
    replay = replayed(bench, "full", MEMSNAP_SAMPLE_MS="0", **UNCACHED)

    assert replay.code == 11 and replay.receipt["verdict"]["primary"] is None
    assert set(statuses(replay).values()) == {"undecidable"}
    assert replay.receipt["evidence"]["ledgers"]["total_bytes"] is None


def test_a_refusal_that_releasing_the_cache_recovered_is_no_incident(bench):
    replay = replayed(bench, "recovered", code=0)

    assert replay.code == 0 and replay.receipt["verdict"]["primary"] is None
    assert [miss["kind"] for miss in replay.receipt["evidence"]["near_misses"]] == ["recovered"]


def test_the_failing_device_is_the_one_that_is_explained(bench):
    replay = replayed(bench, "second_device", simcuda=("--devices", "2"))

    evidence = replay.receipt["evidence"]
    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "live_set"
    assert evidence["failure"]["device"] == 1 and evidence["ledgers"]["allocated_bytes"] == 6 * GIB
    assert "cuda:1" in replay.stdout


def test_memory_that_others_took_during_the_run_is_external_pressure(bench):
    replay = replayed(bench, "neighbour_arrives")

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "external"
    assert replay.receipt["evidence"]["ledgers"]["outside_bytes"] == 5 * GIB + 300 * MIB


def test_a_request_that_ideal_packing_would_just_have_placed_is_near_capacity(bench):
    replay = replayed(bench, "near_capacity")

    assert replay.code == 10 and "near_capacity" in replay.receipt["verdict"]["qualifiers"]
    ledgers = replay.receipt["evidence"]["ledgers"]
    assert 0 <= ledgers["margin_bytes"] < ledgers["threshold_bytes"]
    assert statuses(replay)["fragmentation"] == "contributing"
