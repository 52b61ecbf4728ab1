# SPDX-License-Identifier: Apache-2.0
"""The verdict on whole jobs with known causes: real PyTorch, genuine OutOfMemoryError, simulated GPU."""

import pytest

HYPOTHESES = {"live_set", "retention", "fragmentation", "external"}


@pytest.mark.parametrize("cause", ["live_set", "retention", "fragmentation", "external"])
def test_a_job_that_dies_of_one_cause_gets_that_cause_as_primary(bench, cause):
    job = bench.run(f"{cause}.py")
    assert job.code == 1 and "torch.OutOfMemoryError: CUDA out of memory" in job.stderr
    ring = next(ring for ring in job.rings if bench.replay(ring).code == 10)

    replay = bench.replay(ring, receipt=True)

    assert replay.code == 10, replay.stdout + replay.stderr
    verdict = replay.receipt["verdict"]
    assert verdict["primary"] == cause, replay.stdout
    statuses = {name: finding["status"] for name, finding in replay.receipt["verdict"]["hypotheses"].items()}
    assert statuses.keys() == HYPOTHESES
    assert [name for name, status in statuses.items() if status == "primary"] == [cause]
    for listed in ("contributing", "rejected", "undecidable"):
        assert verdict[listed] == sorted(name for name, status in statuses.items() if status == listed)


def test_a_job_that_ends_well_has_no_incident_and_named_shapes(bench):
    job = bench.run("no_failure.py")
    assert (job.code, job.stdout, job.stderr) == (0, "done\n", "")

    replay = bench.replay(job.ring, receipt=True)

    assert replay.code == 0
    assert replay.receipt["verdict"] == {
        "primary": None, "contributing": [], "rejected": [], "undecidable": [], "qualifiers": [],
        "exit_status": 0, "fix": None, "proof": None, "numbers": None, "hypotheses": None,
    }
    assert replay.receipt["evidence"]["failure"] is None
    assert replay.receipt["evidence"]["shapes"]


def test_every_number_of_the_split_adds_up_to_the_card(bench):
    job = bench.run("fragmentation.py")
    ledgers = bench.replay(job.ring, receipt=True).receipt["evidence"]["ledgers"]

    assert ledgers["total_bytes"] == 8 * 1024**3
    assert ledgers["total_bytes"] == ledgers["reserved_bytes"] + ledgers["outside_bytes"] + ledgers["device_free_bytes"]
