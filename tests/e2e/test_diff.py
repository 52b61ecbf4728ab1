# SPDX-License-Identifier: Apache-2.0
"""memsnap-replay diff on recordings of one real PyTorch job before and after a change."""

import hashlib
import json

import pytest

from conftest import TOP

CHANGED = ("--changed", "allocator.expandable_segments")


@pytest.fixture(scope="module")
def jobs(module_bench):
    """The ring of a job that dies of fragmentation, and that of the same job with expandable segments, which does not."""
    before = module_bench.run("pinned_remainders.py", MEMSNAP_RING_MB="1", MEMSNAP_OUT="before.bin")
    assert before.code == 1 and "torch.OutOfMemoryError" in before.stderr
    after = module_bench.run("pinned_remainders.py", MEMSNAP_RING_MB="1", MEMSNAP_OUT="after.bin", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert after.code == 0, after.stderr
    for side in ("before", "after"):
        module_bench.replay(f"{side}.bin", "--json", f"{side}.json")
    return module_bench


def sealed(receipt: dict) -> str:
    """The canonical text of a receipt, with the digest of its changed content."""
    def canonical(value) -> str:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))

    content = {name: member for name, member in receipt.items() if name not in ("digest", "times")}
    receipt["digest"]["receipt"] = hashlib.sha256(canonical(content).encode()).hexdigest()
    return canonical(receipt)


def compared(bench, *arguments) -> dict:
    return json.loads(bench.replay("diff", *arguments, "--json", "-").stdout)


def test_the_fix_is_proven_by_the_request_that_now_succeeds(jobs):
    replay = jobs.replay("diff", "before.bin", "after.bin", *CHANGED)

    assert replay.code == 0, replay.stdout + replay.stderr
    assert "PROVEN" in replay.stdout and "granted_after 1 >= granted_needed 1" in replay.stdout
    assert "declared   allocator.expandable_segments: false -> true" in replay.stdout
    observed, model = replay.stdout.split("derived from BEFORE")
    assert "observed in AFTER: proven" in observed and "margin" in model
    assert len(replay.stdout.splitlines()) <= 40


def test_the_screen_in_the_documentation_is_what_is_printed(jobs):
    documented = (TOP / "docs/diff.md").read_text().split("```\n")[3]
    assert jobs.replay("diff", "before.bin", "after.bin", *CHANGED).stdout == documented


def test_an_undeclared_change_makes_the_two_not_comparable(jobs):
    replay = jobs.replay("diff", "before.bin", "after.bin")

    assert replay.code == 11 and "NOT COMPARABLE" in replay.stdout
    assert "undeclared allocator.expandable_segments: false -> true" in replay.stdout


def test_a_run_that_fails_the_same_way_again_is_told_so(jobs):
    replay = jobs.replay("diff", "before.bin", "before.bin")
    assert replay.code == 10 and "INCIDENT PERSISTS" in replay.stdout


def test_two_runs_without_an_incident_are_no_finding(jobs):
    assert jobs.replay("diff", "after.bin", "after.bin").code == 0


def test_a_receipt_stands_for_its_ring_but_cannot_prove_what_it_does_not_hold(jobs):
    receipt_before = compared(jobs, "before.json", "after.bin", *CHANGED)
    assert (receipt_before["result"], receipt_before["exit_status"]) == ("proven", 0)

    receipt_after = compared(jobs, "before.bin", "after.json", *CHANGED)
    assert (receipt_after["result"], receipt_after["exit_status"]) == ("not_proven", 11)
    assert receipt_after["compared"]["request_granted_count"]["after"] == {"provenance": "unknown", "value": None}


def test_the_json_is_the_same_every_time_and_carries_the_digests_of_both_receipts(jobs):
    first, second = (jobs.replay("diff", "before.bin", "after.bin", *CHANGED, "--json", "-").stdout for _ in range(2))
    assert first == second and str(jobs.folder) not in first and "before.bin" not in first
    written = json.loads(first)
    assert written["schema"] == "memsnap.diff.v1"
    for side in ("before", "after"):
        digest = json.loads((jobs.folder / f"{side}.json").read_text())["digest"]
        assert written[side]["digest"] == {"evidence": digest["evidence"], "receipt": digest["receipt"]}


def test_the_digests_are_those_of_receipts_that_know_the_words_of_phases(bench):
    bench.run("phased.py", MEMSNAP_OUT="ring.bin", PYTHONPATH=str(TOP / "python"))
    receipt = json.loads(bench.replay("ring.bin", "--json", "-").stdout)
    assert [phase["word"] for phase in receipt["dictionary"]["phases"]] != [None] * len(receipt["dictionary"]["phases"])

    written = json.loads(bench.replay("diff", "ring.bin", "ring.bin", "--json", "-").stdout)

    assert written["before"]["digest"] == {"evidence": receipt["digest"]["evidence"], "receipt": receipt["digest"]["receipt"]}


def test_another_verdict_of_the_same_evidence_is_a_disagreement_and_both_are_printed(jobs):
    receipt = json.loads((jobs.folder / "before.json").read_text())
    receipt["verdict"]["qualifiers"] = ["fatal"]
    (jobs.folder / "other.json").write_text(sealed(receipt))

    replay = jobs.replay("diff", "before.json", "other.json")

    assert replay.code == 6 and "OTHER DIAGNOSIS" in replay.stdout and replay.stdout.count('"hypotheses": {') == 2
    assert compared(jobs, "before.json", "other.json")["diagnosis"]["after"] == receipt["verdict"]


def test_the_comparison_replaces_neither_side(jobs):
    for side in ("before.bin", "after.bin"):
        content = (jobs.folder / side).read_bytes()
        replay = jobs.replay("diff", "before.bin", "after.bin", "--json", side, "--force")
        assert replay.code == 5 and (jobs.folder / side).read_bytes() == content


@pytest.mark.parametrize("arguments, code", [
    (["before.bin"], 2),
    (["before.bin", "after.bin", "--changed", "the_weather"], 2),
    (["before.bin", "after.bin", "--target-headroom", "-1"], 2),
    (["before.bin", "nowhere.bin"], 5),
    (["before.bin", "words.txt"], 3),
    (["before.bin", "damaged.json"], 4),
])
def test_trouble_with_a_side_has_the_exit_code_that_it_has_elsewhere(jobs, arguments, code):
    (jobs.folder / "words.txt").write_text("neither a ring nor a receipt")
    receipt = (jobs.folder / "before.json").read_text()
    (jobs.folder / "damaged.json").write_text(receipt.replace('"request_bytes":1073741824', '"request_bytes":1073741825'))

    replay = jobs.replay("diff", *arguments)

    assert replay.code == code and replay.stderr != "" and replay.stdout == ""
