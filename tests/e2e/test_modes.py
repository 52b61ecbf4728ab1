# SPDX-License-Identifier: Apache-2.0
"""Every mode of PyTorch's allocator, and every way a job spreads over devices, contexts and processes (programs/modes/).

Each job runs twice, with and without the recorder, and must end and speak alike. Its looks at the card are compared with the replayed ledgers: the
driver's free bytes, PyTorch's allocated and reserved bytes. That the ledgers predict each answer of the driver is judged at the end of each test (conftest.py).
"""

import csv
import dataclasses
import subprocess

import pytest

from conftest import CARD, REPLAY

MIB = 1024**2
GIB = 1024 * MIB
CONTEXT = 300 * MIB
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
TWO_CARDS = (*CARD, "--devices", "2")
PARTS = ("active_bytes", "reusable_free_bytes", "fragmented_free_bytes", "incompatible_free_bytes", "others_bytes", "unattributed_bytes", "free_bytes")


@dataclasses.dataclass
class Recorded:
    """One recording of a job: its event ledger, its receipt and the report, beside what the job itself printed."""

    rows: list[dict[str, str]]
    receipt: dict
    report: str
    output: str

    def evidence(self) -> dict:
        return self.receipt["evidence"]

    def looks(self) -> list[tuple[int, ...]]:
        """As the job printed them: device, free, allocated, reserved."""
        return [tuple(map(int, line.split()[1:])) for line in self.output.splitlines() if line.startswith("look ")]

    def observed(self, *columns: str) -> list[tuple[int, ...]]:
        """As the ledger has them: of every answer of the driver the columns asked for."""
        return [tuple(int(row[column]) for column in columns) for row in self.rows if row["kind"] == "mem_info"]

    def balance(self, instant: str, device: int = 0) -> dict:
        return next(holder for holder in self.evidence()["holders"] if (holder["instant"], holder["device"]) == (instant, device))


def read(bench, ring, output: str) -> Recorded:
    ledger = subprocess.run([REPLAY, ring, "--csv", "-"], capture_output=True, text=True, timeout=120)
    replayed = bench.replay(ring, receipt=True)
    recorded = Recorded(list(csv.DictReader(ledger.stdout.splitlines())), replayed.receipt, replayed.stdout, output)
    assert_everything_adds_up(recorded)
    return recorded


def assert_everything_adds_up(recorded: Recorded) -> None:
    """The ledger's columns and the balances are the card, exactly, at every event and instant."""
    totals = {}
    for row in recorded.rows:
        if row["device_total_bytes"]:
            totals[row["device"]] = int(row["device_total_bytes"])
        if row["expected_free_bytes"]:
            parts = ("held_bytes", "own_outside_bytes", "other_processes_bytes", "unattributed_bytes", "expected_free_bytes")
            assert sum(int(row[part] or 0) for part in parts) == totals[row["device"]], row
    assert recorded.evidence()["holders"], "somebody holds the card"
    for balance in recorded.evidence()["holders"]:
        parts = sum(balance[part] or 0 for part in PARTS) + sum(library["bytes"] for library in balance["libraries"])
        assert parts == balance["total_bytes"] == 8 * GIB, balance


def run_twice(bench, program: str, *arguments: str, simcuda=CARD, **environment: str):
    """The recorded job, which must end and speak like the one without the recorder."""
    jobs = [bench.run(f"modes/{program}.py", *arguments, simcuda=simcuda, record=record, MEMSNAP_QUIET="1", **environment) for record in (False, True)]
    assert (jobs[1].code, jobs[1].stdout, jobs[1].stderr) == (jobs[0].code, jobs[0].stdout, jobs[0].stderr)
    return jobs[1]


def recorded(bench, program: str, *arguments: str, code: int = 1, **options) -> Recorded:
    """A job of one process, by default one that runs out of memory in the end."""
    job = run_twice(bench, program, *arguments, **options)
    assert job.code == code, job.stderr
    return read(bench, job.ring, job.stdout)


def assert_looks_agree(recorded: Recorded, allocated: str | None = "active_bytes", reserved: str | None = "held_bytes") -> None:
    """At each look the driver's free bytes are in the ledger, and PyTorch's totals are those replayed in the columns named (None: PyTorch counts nothing)."""
    looks = recorded.looks()
    assert len(looks) >= 2
    for column, at in (("device", 0), ("device_free_bytes", 1), (allocated, 2), (reserved, 3)):
        if column:
            assert recorded.observed(column)[:len(looks)] == [(look[at],) for look in looks], column


def assert_held_at_the_failure(recorded: Recorded, libraries: int = 0, outside: int = CONTEXT, device: int = 0) -> dict:
    """Beside PyTorch: what other libraries hold, and the context, which no ledger tells. The driver's own answer says what is free."""
    balance = recorded.balance("failure", device)
    assert balance["source"] == "observed"
    assert sum(library["bytes"] for library in balance["libraries"]) == libraries
    assert balance["unattributed_bytes"] + (balance["others_bytes"] or 0) == outside
    return balance


def primary(recorded: Recorded) -> str:
    return recorded.receipt["verdict"]["primary"]


@pytest.mark.parametrize("environment", [{}, EXPANDABLE], ids=["native", "expandable-segments"])
def test_the_caching_allocator_is_seen_block_by_block(bench, environment):
    found = recorded(bench, "churn", **environment)

    assert_looks_agree(found)
    assert primary(found) == "live_set"
    balance = assert_held_at_the_failure(found)
    assert balance["active_bytes"] == found.evidence()["ledgers"]["allocated_bytes"] > 7 * GIB


def test_with_the_async_backend_each_allocation_is_seen_as_a_call_and_the_pool_behind_them_is_not(bench):
    """What the pool keeps of freed memory is missing from our sums: PyTorch's own number for it is never below what we know is held."""
    found = recorded(bench, "churn", **ASYNC)

    assert_looks_agree(found, allocated="held_bytes", reserved=None)
    kept = [look[3] - held for look, (held,) in zip(found.looks(), found.observed("held_bytes"))]
    assert min(kept) >= 0 and max(kept) > 40 * MIB
    assert found.receipt["environment"]["allocator"]["backend"] == "async"
    assert found.evidence()["failure"]["allocator"] == "pytorch_uncached" and primary(found) == "live_set"


def test_without_caching_each_tensor_is_a_call_of_its_own_and_pytorch_counts_nothing(bench):
    found = recorded(bench, "churn", **UNCACHED)

    assert [look[2:] for look in found.looks()] == [(0, 0)] * len(found.looks())
    assert_looks_agree(found, allocated=None, reserved=None)
    before, after = (next(iter(found.observed("held_bytes")[at])) for at in (1, 2))
    assert before - after == sum(int(size * MIB) for size in (0.0625, 3, 30, 5)), "freed at once, as asked for"
    assert found.evidence()["failure"]["allocator"] == "pytorch_uncached" and primary(found) == "live_set"


@pytest.mark.parametrize("own_library", [False, True], ids=["its-own-cudaMalloc", "a-librarys-functions"])
def test_a_memory_pool_is_part_of_what_pytorch_holds_whoever_made_its_segments(bench, library, own_library):
    found = recorded(bench, "mem_pool", *([library] if own_library else []))

    assert_looks_agree(found)
    balance = assert_held_at_the_failure(found)
    assert balance["incompatible_free_bytes"] == 281.5 * MIB, "nothing that is free in the pool can serve the default pool"


@pytest.mark.parametrize("environment", [{}, EXPANDABLE], ids=["native", "expandable-segments"])
def test_a_graphs_private_pool_is_counted_from_capture_to_reset(bench, environment):
    found = recorded(bench, "graph", **environment)

    assert_looks_agree(found)
    captured, reset = found.observed("held_bytes")[1], found.observed("held_bytes")[3]
    assert captured > (400 * MIB,) and reset > (500 * MIB,)
    assert_held_at_the_failure(found)


def test_a_pluggable_allocators_memory_and_its_refusal_are_the_librarys(bench, library):
    found = recorded(bench, "pluggable", library)

    assert [look[1] for look in found.looks()] == [free for (free,) in found.observed("device_free_bytes")]
    assert found.evidence()["failure"]["allocator"] == "foreign" and found.evidence()["failure"]["operation"] == "cudaMalloc"
    assert found.observed("held_bytes")[-1] == (0,) and found.observed("own_outside_bytes")[-1] == (7801 * MIB,)
    assert [held["bytes"] for held in found.evidence()["libraries"]] == [7801 * MIB]
    assert sum(held["bytes"] for held in found.balance("failure")["libraries"]) == 7801 * MIB
    assert "libother.so" in found.report


@pytest.mark.parametrize("environment", [{}, EXPANDABLE], ids=["native", "expandable-segments"])
def test_a_memory_fraction_is_the_cap_and_half_of_the_card_stays_free(bench, environment):
    found = recorded(bench, "fraction", **environment)

    assert_looks_agree(found)
    assert primary(found) == "live_set" and "cap" in found.receipt["verdict"]["qualifiers"]
    assert assert_held_at_the_failure(found)["free_bytes"] > 3.9 * GIB


def test_a_memory_fraction_does_not_bind_without_caching(bench):
    found = recorded(bench, "fraction", **UNCACHED)

    assert primary(found) == "live_set" and "cap" not in found.receipt["verdict"]["qualifiers"]
    assert found.observed("held_bytes")[-1] > (7 * GIB,)


def test_two_devices_are_two_ledgers_and_the_full_one_is_explained(bench):
    found = recorded(bench, "two_devices", simcuda=TWO_CARDS)

    assert_looks_agree(found)
    assert found.evidence()["failure"]["device"] == 1 and primary(found) == "live_set"
    assert_held_at_the_failure(found, device=1)


@pytest.mark.card_changes
def test_a_context_of_its_own_costs_what_a_context_costs_and_takes_its_memory_with_it(bench):
    found = recorded(bench, "contexts")

    assert_looks_agree(found)
    outside = [8 * GIB - sum(seen) for seen in found.observed("device_free_bytes", "held_bytes", "own_outside_bytes")]
    assert outside[:4] == [CONTEXT, 2 * CONTEXT, 2 * CONTEXT, CONTEXT] and set(outside[4:]) == {CONTEXT}
    assert found.observed("own_outside_bytes")[1:4] == [(0,), (510 * MIB,), (0,)]
    assert_held_at_the_failure(found)


def test_devices_are_numbered_as_the_process_sees_them(bench):
    found = recorded(bench, "churn", simcuda=TWO_CARDS, CUDA_VISIBLE_DEVICES="1")

    assert_looks_agree(found)
    assert found.evidence()["failure"]["device"] == 0
    assert {row["device"] for row in found.rows} <= {"0", ""}


@pytest.mark.parametrize("name", ["MIG-11111111-2222-3333-4444-555555555555", "GPU-11111111-2222-3333-4444-555555555555", "7"])
def test_a_name_that_no_device_has_leaves_a_job_without_a_device_and_without_a_file(bench, name):
    """The simulated device has no MIG instances and no names; a real one of that name would be numbered as above."""
    job = run_twice(bench, "churn", CUDA_VISIBLE_DEVICES=name)

    assert job.code == 1 and "No CUDA GPUs are available" in job.stderr and job.rings == []


def family(bench, job) -> tuple[Recorded, Recorded]:
    """Parent and child, each with its recording."""
    headers = [dict(line.split(maxsplit=1) for line in bench.replay("dump", "--header", ring).stdout.splitlines()) for ring in job.rings]
    assert len(job.rings) == 2
    child = next(at for at in (0, 1) if headers[at]["parent_pid"] == headers[1 - at]["pid"])
    return read(bench, job.rings[1 - child], job.stdout), read(bench, job.rings[child], job.stdout)


@pytest.mark.card_changes
@pytest.mark.parametrize("way", ["spawn", "fork_before"])
def test_a_child_that_uses_the_card_has_a_recording_of_its_own_and_is_another_process_to_its_parent(bench, way):
    job = run_twice(bench, "children", way)
    assert job.code == 0, job.stderr

    parent, child = family(bench, job)

    looks = parent.looks()
    assert [free for (free,) in parent.observed("device_free_bytes")] == [looks[at][1] for at in (0, 2, 3)]
    assert [held for (held,) in parent.observed("held_bytes")] == [100 * MIB] * 3
    outside = [8 * GIB - free - 100 * MIB for (free,) in parent.observed("device_free_bytes")]
    assert outside == [CONTEXT, 2 * CONTEXT + GIB, CONTEXT]
    assert child.observed("device_free_bytes", "held_bytes") == [(looks[1][1], GIB)]


def test_a_child_that_was_forked_from_a_user_of_the_card_leaves_no_file_and_makes_no_noise(bench):
    job = run_twice(bench, "children", "fork_after")
    assert job.code == 0 and job.stderr == ""

    found = read(bench, job.ring, job.stdout)
    assert_looks_agree(found)


def test_a_loaders_workers_leave_no_file_and_the_pinned_memory_is_counted_beside_the_card(bench):
    found = recorded(bench, "data_loader")

    assert_looks_agree(found)
    pinned = int(next(line for line in found.output.splitlines() if line.startswith("pinned ")).split()[1])
    assert assert_held_at_the_failure(found)["pinned_bytes"] == pinned > 0
    main_thread = next(row["thread"] for row in found.rows if row["kind"] == "mem_info")
    assert {row["thread"] for row in found.rows if row["kind"] == "ok" and row["object"] == "host"} - {main_thread}, "the loader's own thread pins"
