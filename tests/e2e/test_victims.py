# SPDX-License-Identifier: Apache-2.0
"""Libraries that are refused memory while PyTorch holds the card, by each way to ask for it: an incident of theirs, or a near miss."""

import pytest

MIB = 1024**2
GIB = 1024 * MIB
CALLS = ["cudaMalloc", "cuMemAlloc", "cuMemCreate"]


def receipt(bench, library: str, call: str, story: str, code: int = 1) -> dict:
    job = bench.run("modes/victims.py", library, call, story, MEMSNAP_QUIET="1")
    assert job.code == code, job.stderr
    return bench.replay(job.ring, receipt=True).receipt


@pytest.mark.parametrize("call", CALLS)
def test_a_library_that_is_refused_and_gives_up_is_the_incident(bench, library, call):
    unrecorded = bench.run("modes/victims.py", library, call, "refused", record=False)
    recorded = bench.run("modes/victims.py", library, call, "refused", MEMSNAP_QUIET="1")
    assert (recorded.code, recorded.stdout, recorded.stderr) == (unrecorded.code, unrecorded.stdout, unrecorded.stderr)
    found = bench.replay(recorded.ring, receipt=True).receipt

    failure = found["evidence"]["failure"]
    assert (failure["allocator"], failure["operation"], failure["segment_request_bytes"]) == ("foreign", call, 2 * GIB)
    assert found["verdict"]["primary"] == "live_set" and "fatal" in found["verdict"]["qualifiers"]
    at_failure = next(balance for balance in found["evidence"]["holders"] if balance["instant"] == "failure")
    assert [held["bytes"] for held in at_failure["libraries"]] == [100 * MIB] and at_failure["active_bytes"] == 7000 * MIB


@pytest.mark.parametrize("story, code", [("served_later", 1), ("ends_well", 0)])
@pytest.mark.parametrize("call", CALLS)
def test_a_library_that_was_served_later_or_whose_job_ended_well_only_probed(bench, library, call, story, code):
    found = receipt(bench, library, call, story, code)

    assert found["evidence"]["failure"] is None and found["verdict"]["exit_status"] == 0
    misses = [(miss["kind"], miss["operation"], miss["request_bytes"]) for miss in found["evidence"]["near_misses"]]
    assert misses == [("probe", call, 2 * GIB)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("story, answer", [("hoarded", "cache_hoarding"), ("pinned", "cache_pinned")])
def test_a_cache_that_would_have_served_the_library_is_the_answer_itself(bench, library, call, story, answer):
    found = receipt(bench, library, call, story)

    assert answer in found["verdict"]["qualifiers"] and found["verdict"]["primary"] is None
    assert {finding["status"] for finding in found["verdict"]["hypotheses"].values()} == {"rejected"}
    ledgers = found["evidence"]["ledgers"]
    assert (ledgers["releasable_bytes"] >= 4 * GIB) == (answer == "cache_hoarding")
    assert ledgers["slack_bytes"] >= 4 * GIB


def test_a_refusal_that_the_caching_allocator_got_over_is_listed_and_no_incident(bench):
    job = bench.run("cases.py", "recovered")

    found = bench.replay(job.ring, receipt=True).receipt
    assert found["evidence"]["failure"] is None
    assert [(miss["kind"], miss["operation"], miss["request_bytes"]) for miss in found["evidence"]["near_misses"]] == [("recovered", "cudaMalloc", 6 * GIB)]
