# SPDX-License-Identifier: Apache-2.0
"""One run, told twice: by the recorder's ring and by PyTorch's own snapshot at the failure. Where both know, they say the same."""

import os

import pytest

CARD_BYTES = 8 << 30
KNOWN_TO_BOTH = ("active_bytes", "allocated_bytes", "device_free_bytes", "free_extent_bytes", "largest_free_extent_bytes", "margin_bytes", "reserved_bytes",
                 "slack_bytes", "total_bytes", "threshold_bytes", "outside_bytes", "incompatible_free_bytes")
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def told_twice(bench, *program, **environment) -> tuple[dict, dict]:
    """The receipts of the ring and of the snapshot written at the last failure."""
    bench.run("with_history.py", str(bench_program(program[0])), *program[1:], **environment)
    snapshot = max(bench.folder.glob("failure-*.pickle"), key=lambda path: int(path.stem.split("-")[1]))
    ring = next(ring for ring in bench.rings() if bench.replay(ring).code in (10, 11))
    by_ring = bench.replay(ring, "--with-names", receipt=True).receipt
    by_snapshot = bench.replay(snapshot, "--card", str(CARD_BYTES), "--with-names", receipt=True).receipt
    return by_ring, by_snapshot


def bench_program(name: str) -> str:
    return os.path.join(os.path.dirname(__file__), "programs", name)


def extents(receipt: dict) -> list:
    columns = receipt["evidence"]["extents"]["columns"]
    wanted = [columns.index(name) for name in ("segment", "offset_bytes", "size_bytes", "class", "kind", "state")]
    return [[row[at] for at in wanted] for row in receipt["evidence"]["extents"]["rows"]]


def bytes_by_python_stack(receipt: dict) -> dict[tuple, int]:
    """Live bytes of sites with Python frames, by their files and lines."""
    frames = {site["site"]: tuple((os.path.basename(one["file"] or ""), one["line"]) for one in site["frames"] if (one["file"] or "").endswith(".py"))
              for site in receipt["names"]["sites"]}
    found: dict[tuple, int] = {}
    for row in receipt["evidence"]["sites"]:
        if stack := frames.get(row["site"]):
            found[stack] = found.get(stack, 0) + row["bytes"]
    return found


@pytest.mark.parametrize("program, environment", [
    (("live_set.py",), {}), (("retention.py",), {}), (("fragmentation.py",), {}), (("external.py",), {}), (("live_set.py",), EXPANDABLE),
    (("cases.py", "near_capacity"), {}),
], ids=lambda value: "-".join(value) if isinstance(value, tuple) else "expandable" if value else "segments")
def test_ring_and_snapshot_agree_field_by_field(bench, program, environment):
    ring, snapshot = told_twice(bench, *program, MEMSNAP_TAP="off", **environment)
    a, b = ring["evidence"], snapshot["evidence"]
    assert (a["failure"]["request_bytes"], a["failure"]["device"]) == (b["failure"]["request_bytes"], b["failure"]["device"])
    assert {name: b["ledgers"][name] for name in KNOWN_TO_BOTH} == {name: a["ledgers"][name] for name in KNOWN_TO_BOTH}
    assert extents(snapshot) == extents(ring)
    statuses = [{name: one["status"] for name, one in receipt["verdict"]["hypotheses"].items()} for receipt in (ring, snapshot)]
    decided = {name for name in statuses[0] if "undecidable" not in (statuses[0][name], statuses[1][name])}
    assert {name: statuses[0][name] for name in decided} == {name: statuses[1][name] for name in decided}
    assert decided >= {"fragmentation"}
    by_stack = bytes_by_python_stack(snapshot)
    shared = {stack: size for stack, size in bytes_by_python_stack(ring).items() if stack in by_stack}
    assert {stack: by_stack[stack] for stack in shared} == shared
    assert sum(shared.values()) * 2 > sum(bytes_by_python_stack(ring).values())
