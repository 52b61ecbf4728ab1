# SPDX-License-Identifier: Apache-2.0
"""The replayed state against PyTorch's own memory_snapshot() and memory_stats(), block for block, at many instants of real programs.

Each program stops all its threads, copies the live ring and writes down what PyTorch says (programs/instants.py).
"""

import json
import pathlib

import pytest

import ring_file
from ring_file import KIND

PENDING = {"SIMCUDA_PENDING_EVENTS": "1"}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
# Splitting rules that give other segments and other granted sizes than the default.
SPLITTING = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:32,roundup_power2_divisions:8"}


def replayed(bench, ring: pathlib.Path) -> dict[str, list]:
    """What `dump --state` says, in the shape of an instant's JSON."""
    done = bench.replay("dump", "--state", ring)
    assert done.code == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {
        "totals": {row[1]: [int(row[2]), int(row[3])] for row in rows if row[0] == "totals"},
        "segments": sorted([int(row[1]), int(row[2], 16), int(row[3]), row[4] == "expandable"] for row in rows if row[0] == "segment"),
        "blocks": sorted([int(row[1]), int(row[2], 16), int(row[3])] for row in rows if row[0] == "block"),
    }


def true_totals(truth: dict) -> dict[str, list[int]]:
    """Allocated and reserved of the devices on which anything ever was allocated."""
    return {device: values[:2] for device, values in truth["totals"].items() if values[2]}


@pytest.mark.parametrize("program, environment, instant_count", [
    ("training", {}, 17),
    ("churn", {}, 13),
    ("two_threads", {}, 6),
    ("two_devices", {}, 6),
    ("graph_capture", PENDING, 6),
    ("wrapped", {"MEMSNAP_RING_MB": "1"}, 6),
    ("training", EXPANDABLE, 17),
    ("churn", EXPANDABLE, 13),
    ("graph_capture", PENDING | EXPANDABLE, 6),
    ("wrapped", EXPANDABLE | {"MEMSNAP_RING_MB": "1"}, 6),
    ("churn", SPLITTING, 13),
], ids=lambda value: value if isinstance(value, str) else "-".join(f"{v}" for v in value.values()) if isinstance(value, dict) else None)
def test_at_every_instant_segments_blocks_and_totals_are_pytorchs_own(bench, program, environment, instant_count):
    job = bench.run("truth.py", program, simcuda=("--total", "8GiB", "--devices", "2"), **{"MEMSNAP_RING_MB": "4"} | environment)
    assert job.code == 0, job.stderr
    instants = sorted(bench.folder.glob("instant-*.json"))
    assert len(instants) == instant_count

    for instant in instants:
        truth, state = json.loads(instant.read_text()), replayed(bench, instant.with_suffix(".bin"))

        assert state["segments"] == truth["segments"], instant.stem
        assert state["blocks"] == truth["blocks"], instant.stem
        assert state["totals"] == true_totals(truth), instant.stem


def test_the_ring_went_round_twenty_times_with_blocks_older_than_it_and_freed_by_other_threads(bench):
    """That the wrapped program is what its name says: without this the comparison above proves less than it seems to."""
    job = bench.run("truth.py", "wrapped", simcuda=("--total", "8GiB", "--devices", "2"), MEMSNAP_RING_MB="1")
    header = dict(line.split(maxsplit=1) for line in bench.replay("dump", "--header", job.ring).stdout.splitlines())
    capacity = int(header["ring_capacity_records"])
    assert int(header["head_ticket"]) >= 20 * capacity

    stopped = max(bench.folder.glob("instant-*-threads-stopped.bin"))
    live = bench.replay("dump", "--state", stopped).stdout.splitlines()
    assert sum(int(line.split()[4]) < capacity for line in live if line.startswith("block ")) == 3

    found = ring_file.records(stopped)
    born_by = dict(zip((found["seq"] - 1).tolist(), found["thread"].tolist()))
    frees = found[found["kind"] == KIND["block_free"]]
    freed_by_others = sum(born_by.get(birth, thread) != thread for birth, thread in zip(frees["link"].tolist(), frees["thread"].tolist()))
    assert freed_by_others > 10


def test_a_deferred_free_is_not_allocated_though_pytorch_still_waits_for_it(bench):
    job = bench.run("truth.py", "graph_capture", simcuda=("--total", "8GiB", "--devices", "2"), **PENDING)
    assert job.code == 0, job.stderr
    pending = {path.stem[len("instant-00-"):]: json.loads(path.read_text())["pending_free_count"] for path in bench.folder.glob("instant-*.json")}
    assert pending["free-deferred"] == 1 and pending["free-completed"] == 0
