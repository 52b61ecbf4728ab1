# SPDX-License-Identifier: Apache-2.0
"""What a recording cannot tell: each test shows the consequence and what is said instead of a guess. docs/limits.md has a row for each."""

import csv
import subprocess

import pytest

from conftest import BUILD, PROGRAMS, REPLAY
from reconcile import mismatches

MIB = 1024**2
GIB = 1024 * MIB
CONTEXT = 300 * MIB
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
UNSAMPLED = {"MEMSNAP_SAMPLE_MS": "0"}


@pytest.fixture(scope="module")
def unseen(tmp_path_factory) -> str:
    """A library that reaches the driver past everything preloaded (unseen.c)."""
    built = tmp_path_factory.mktemp("library") / "libunseen.so"
    driver, source = BUILD / "tests/simcuda/libcuda.so.1", PROGRAMS / "modes/unseen.c"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", built, source, driver], check=True)
    return str(built)


def run(bench, program: str, *arguments: str, code: int = 1, **environment: str):
    """The replay of a job's only recording, with its receipt."""
    job = bench.run(f"modes/{program}.py", *arguments, **environment)
    assert job.code == code, job.stderr
    return bench.replay(job.ring, receipt=True)


def balance(receipt: dict, instant: str) -> dict:
    return next(holder for holder in receipt["evidence"]["holders"] if holder["instant"] == instant)


def ledger(bench) -> list[str]:
    return subprocess.run([REPLAY, *bench.rings(), "--csv", "-"], capture_output=True, text=True, timeout=120).stdout.splitlines()


def outside(bench) -> list[int]:
    """Of each answer of the driver, what no ledger explains."""
    rows = [row for row in csv.DictReader(ledger(bench)) if row["kind"] == "mem_info"]
    return [int(row["device_total_bytes"]) - sum(int(row[part]) for part in ("device_free_bytes", "held_bytes", "own_outside_bytes")) for row in rows]


def test_what_a_context_takes_is_unattributed_and_shares_its_line_with_unknown_neighbours(bench):
    job = bench.run("modes/churn.py", simcuda=("--total", "8GiB", "--context", "700MiB"), **UNSAMPLED)
    replay = bench.replay(job.ring, receipt=True)

    assert balance(replay.receipt, "failure")["unattributed_bytes"] == 700 * MIB
    assert "context, neighbours" in replay.stdout


@pytest.mark.card_changes
@pytest.mark.parametrize("way", ["take_linked", "take_default_scope"])
def test_memory_taken_past_the_hooks_is_unattributed_and_the_predictions_stop_agreeing(bench, unseen, way):
    receipt = run(bench, "unseen", unseen, way).receipt

    reconciliation = receipt["evidence"]["reconciliation"]
    assert (reconciliation["mismatch_count"], reconciliation["largest_difference_bytes"]) == (1, 700 * MIB)
    assert len(mismatches(ledger(bench), late=False)) == 1, "the judgement at the end of every other test would have seen it"
    at_failure = balance(receipt, "failure")
    assert at_failure["libraries"] == [] and at_failure["unattributed_bytes"] == CONTEXT + 700 * MIB


@pytest.mark.card_changes
def test_memory_given_back_past_the_hooks_stays_listed_and_what_is_unattributed_shrinks_below_nothing(bench, unseen):
    receipt = run(bench, "unseen", unseen, "given_back").receipt

    assert receipt["evidence"]["reconciliation"]["mismatch_count"] == 1
    at_failure = balance(receipt, "failure")
    assert sum(library["bytes"] for library in at_failure["libraries"]) == 700 * MIB
    assert at_failure["unattributed_bytes"] == CONTEXT - 700 * MIB < 0


def test_what_a_pool_keeps_of_freed_memory_is_unattributed_but_expected(bench):
    receipt = run(bench, "churn", **ASYNC).receipt

    seen = outside(bench)
    assert max(seen) - min(seen) > 40 * MIB and min(seen) >= CONTEXT
    reconciliation = receipt["evidence"]["reconciliation"]
    assert reconciliation["observation_count"] >= 6 and reconciliation["mismatch_count"] == 0


@pytest.mark.card_changes
def test_the_memory_of_a_graphs_allocation_nodes_is_unattributed(bench):
    """With the async backend what is captured becomes nodes of the graph, whose memory the driver takes at the first launch."""
    receipt = run(bench, "graph", **ASYNC).receipt

    captured, replayed = outside(bench)[1:3]
    assert captured < CONTEXT + 2 * MIB and replayed > CONTEXT + 400 * MIB
    assert receipt["evidence"]["reconciliation"]["mismatch_count"] >= 1
    assert receipt["capture"]["unknown_free_count"] == 2, "the graph's two results, given back after the capture"


def test_a_limit_of_the_async_backend_refuses_without_a_call_and_no_failure_is_seen(bench):
    job = bench.run("modes/fraction.py", **ASYNC)
    assert job.code == 1 and "PyTorch limit" in job.stderr

    replay = bench.replay(job.ring, receipt=True)
    assert replay.code == 0 and "NO FAILURE" in replay.stdout
    assert replay.receipt["capture"]["exit_status"] == 1
    last_look = [row for row in csv.DictReader(ledger(bench)) if row["kind"] == "mem_info"][-1]
    assert int(last_look["device_free_bytes"]) > 3.9 * GIB


def test_a_request_is_known_by_the_bytes_granted_and_its_rounding_counts_as_in_use(bench):
    replay = run(bench, "limits", "small_requests")

    assert balance(replay.receipt, "failure")["active_bytes"] % (300 * MIB) == 1000 * 512
    assert {site["bytes"] // site["block_count"] for site in replay.receipt["evidence"]["sites"] if site["block_count"] == 1000} == {512}


def test_without_marks_growth_is_not_called_retention(bench):
    receipt = run(bench, "limits", "unmarked_leak").receipt

    assert "growth_unmarked" in receipt["verdict"]["qualifiers"]
    retention = receipt["verdict"]["hypotheses"]["retention"]
    assert retention["status"] == "undecidable" and retention["qualifiers"] == ["inferred"] and retention["probe"]


def test_without_stacks_a_site_is_a_size(bench):
    replay = run(bench, "limits", "unmarked_leak", MEMSNAP_STACK="off")

    assert {site["has_stack"] for site in replay.receipt["evidence"]["sites"]} == {False}
    assert replay.receipt["dictionary"]["sites"] == [] and "(no stacks)" in replay.stdout


@pytest.mark.parametrize("way, qualifier", [("ended", "survived"), ("left_by_exit", "fatal")])
def test_a_process_that_leaves_without_an_exit_mark_did_not_visibly_survive(bench, way, qualifier):
    receipt = run(bench, "limits", way, code=0).receipt

    assert qualifier in receipt["verdict"]["qualifiers"]
    assert receipt["capture"]["exit_seen"] == (way == "ended")


@pytest.mark.card_changes
def test_without_samples_the_holder_of_outside_bytes_is_unknown(bench):
    job = bench.run("cases.py", "neighbour_arrives", **UNSAMPLED)
    receipt = bench.replay(job.ring, receipt=True).receipt

    assert receipt["capture"]["sampling"] == "off" and receipt["evidence"]["outside"]["others_bytes"] is None
    external = receipt["verdict"]["hypotheses"]["external"]
    assert receipt["verdict"]["primary"] == "external" and "holder_unknown" in external["qualifiers"]
    assert balance(receipt, "failure")["unattributed_bytes"] == CONTEXT + 5 * GIB
