# SPDX-License-Identifier: Apache-2.0
"""Autopsies of real PyTorch jobs: the snapshot of the failure gives the verdict that the ring of the same run gives."""

import pickle

import pytest


def autopsied(bench, program: str):
    """The job's snapshot, and the receipts of it and of the ring of the same process."""
    job = bench.run("package/autopsied.py", program)
    assert job.code == 1 and "torch.OutOfMemoryError: CUDA out of memory" in job.stderr
    (path,) = bench.folder.glob("oom*.pickle")
    assert f"memsnap: out of memory on cuda:0: snapshot in {path}; read it with: memsnap-replay {path}\n" in job.stderr
    ring = next(ring for ring in job.rings if bench.replay(ring).code == 10)
    return path, bench.replay(path, receipt=True), bench.replay(ring, receipt=True)


@pytest.mark.card_changes
@pytest.mark.parametrize("cause", ["live_set", "retention", "fragmentation", "external"])
def test_the_snapshot_of_a_failure_gives_the_rings_verdict_without_being_told_the_card(bench, cause):
    path, of_snapshot, of_ring = autopsied(bench, f"{cause}.py")

    numbers = [receipt.receipt["evidence"] for receipt in (of_snapshot, of_ring)]
    for known in ("total_bytes", "device_free_bytes", "reserved_bytes", "allocated_bytes", "active_bytes", "outside_bytes", "margin_bytes"):
        assert numbers[0]["ledgers"][known] == numbers[1]["ledgers"][known], known
    assert numbers[0]["failure"]["request_bytes"] == numbers[1]["failure"]["request_bytes"]
    assert of_ring.receipt["verdict"]["primary"] == cause == of_snapshot.receipt["verdict"]["primary"], of_snapshot.stdout
    assert of_snapshot.receipt["capture"]["total_stated"] is False

    snapshot = pickle.loads(path.read_bytes())
    (told,) = snapshot["memsnap"]["observations"]
    entry = snapshot["device_traces"][0][told["before_entry"]]
    assert entry["action"] == "oom" and told["free_bytes"] == entry["device_free"] == numbers[0]["ledgers"]["device_free_bytes"]


def test_a_job_is_what_it_was_but_for_the_line_and_the_file(bench):
    def without_places(text: str) -> list[str]:
        return [line for line in text.splitlines() if "memsnap: " not in line and "  File " not in line and "runpy" not in line]

    plain, watched = (bench.run(*program, "oom_caught", record=False) for program in (("outcomes.py",), ("package/autopsied.py", "outcomes.py")))

    assert (plain.code, without_places(plain.stdout)) == (watched.code, without_places(watched.stdout))
    assert without_places(plain.stderr) == without_places(watched.stderr) and len(list(bench.folder.glob("oom*.pickle"))) == 1
