# SPDX-License-Identifier: Apache-2.0
"""The numbers of the failure in the receipt against PyTorch's own text of the same failure, at its printed precision."""

import re

import pytest

MIB = 1024 * 1024
GIB = 1024 * MIB
TEXT = re.compile(
    r"Tried to allocate (?P<asked>[\d.]+ \w+)\. GPU \d+ has a total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free"
    r".* Of the allocated memory (?P<allocated>[\d.]+ \w+) is allocated by PyTorch, and (?P<slack>[\d.]+ \w+) is reserved by PyTorch but unallocated"
)
# PyTorch's warning of the same failure has the exact bytes.
WARNING = re.compile(r"while trying to allocate (\d+) bytes \(free: (\d+), total: (\d+)\)")


def printed(size_bytes: int) -> str:
    """As PyTorch prints a size."""
    for unit_bytes, unit in ((1024, "KiB"), (MIB, "MiB"), (GIB, "GiB")):
        if size_bytes <= 1024:
            return f"{size_bytes} bytes"
        if size_bytes <= unit_bytes * 1024 or unit == "GiB":
            return f"{size_bytes / unit_bytes:.2f} {unit}"
    raise AssertionError


def allocation_size(request_bytes: int) -> int:
    """What PyTorch asks the driver for: small segments, large segments, or the request in pages of 2 MiB."""
    if request_bytes <= MIB:
        return 2 * MIB
    return 20 * MIB if request_bytes < 10 * MIB else -(-request_bytes // (2 * MIB)) * 2 * MIB


@pytest.mark.parametrize("rest_mib, request_bytes, unit_mib, configuration", [
    (0, 300_000, 2, ""),
    (0, MIB, 2, ""),
    (10, MIB + 1, 2, ""),
    (18, 10 * MIB - 512, 2, ""),
    (8, 10 * MIB, 2, ""),
    (100, 333 * MIB + 12345, 2, ""),
    (1, 9 * GIB, 2, ""),
    (100, 150 * MIB + 1, 20, "expandable_segments:True"),
    (0, 5 * MIB, 20, "expandable_segments:True"),
])
def test_request_and_totals_of_the_receipt_are_those_of_pytorchs_text(bench, rest_mib, request_bytes, unit_mib, configuration):
    job = bench.run(
        "oom_sizes.py", rest_mib, request_bytes, unit_mib, simcuda=("--total", "4GiB"),
        TORCH_CPP_LOG_LEVEL="WARNING", PYTORCH_CUDA_ALLOC_CONF=configuration,
    )
    text, exact = TEXT.search(job.stderr), WARNING.findall(job.stderr)
    assert job.code == 1 and text, job.stderr

    evidence = bench.replay(job.ring, receipt=True).receipt["evidence"]

    failure, ledgers = evidence["failure"], evidence["ledgers"]
    assert failure["request_bytes"] == -(-request_bytes // 512) * 512
    assert printed(allocation_size(failure["request_bytes"])) == text["asked"]
    assert printed(ledgers["total_bytes"]) == text["total"]
    assert printed(ledgers["device_free_bytes"]) == text["free"]
    assert printed(ledgers["allocated_bytes"]) == text["allocated"]
    assert printed(ledgers["reserved_bytes"] - ledgers["allocated_bytes"]) == text["slack"]
    if not configuration:  # with expandable segments PyTorch warns of the page that could not be mapped, before it gives back the others
        asked, free, total = map(int, exact[-1])
        assert (ledgers["device_free_bytes"], ledgers["total_bytes"]) == (free, total)
        assert failure["segment_request_bytes"] == allocation_size(failure["request_bytes"]) == asked


def test_an_expandable_segment_needs_only_the_pages_that_it_does_not_have_yet(bench):
    """100 MiB are left and 150 MiB asked: eight pages of 20 MiB, of which the failure shows what was still to be mapped."""
    job = bench.run("oom_sizes.py", 100, 150 * MIB + 1, 20, simcuda=("--total", "4GiB"), PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    failure = bench.replay(job.ring, receipt=True).receipt["evidence"]["failure"]
    assert failure["segment_request_bytes"] % (20 * MIB) == 0
    assert 140 * MIB <= failure["segment_request_bytes"] <= 160 * MIB
