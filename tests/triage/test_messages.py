# SPDX-License-Identifier: Apache-2.0
"""One message at a time: every format gives the class that its numbers come to, computed by hand in triage_cases.py."""

import pytest

from triage_cases import CASES, HARMLESS, UNRECOGNISED, brackets, own, sentences
from triage_run import GiB, MiB, triage


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_message_gets_the_class_that_its_numbers_come_to(case, tmp_path):
    found = triage(tmp_path, case.text + "\n")
    one = found.only
    assert (one["format"], one["class"], one["device"]) == (case.format, case.kind, case.device), f"{case.why}\n{found.screen}"
    assert found.code == found.json["exit_status"] == case.exit_status, found.screen
    assert set(case.qualifiers) <= set(one["verdict"]["qualifiers"]), found.screen
    if case.missing is not None:
        assert tuple(one["missing"]) == case.missing, found.screen
    if case.kind in ("live_set", "retention", "fragmentation", "external"):
        assert one["verdict"]["primary"] == case.kind
    else:
        assert one["verdict"]["primary"] is None
    assert found.json["unrecognised"] == []


@pytest.mark.parametrize("kind, text", UNRECOGNISED, ids=lambda value: value[:40])
def test_what_is_no_known_format_is_quoted_and_never_silent(kind, text, tmp_path):
    found = triage(tmp_path, f"step 3 of 7\n{text}\nbye\n")
    assert found.code == 11, found.screen
    assert [(one["kind"], one["line"]) for one in found.json["unrecognised"]] == [(kind, 2)], found.screen
    assert text[:60].split()[0] in found.screen
    assert found.json["incidents"] == []


@pytest.mark.parametrize("text", HARMLESS, ids=lambda value: value[:40])
def test_what_only_looks_like_a_memory_error_is_none(text, tmp_path):
    found = triage(tmp_path, text + "\n")
    assert (found.code, found.json["incidents"], found.json["unrecognised"]) == (0, [], []), found.screen
    assert "no memory error" in found.screen and f"{len(text) + 1} bytes" in found.screen


def evidence(folder, text):
    return triage(folder, text).only["evidence"]


def test_a_printed_number_is_every_number_that_rounds_to_it(tmp_path):
    found = evidence(tmp_path, sentences("2.51 GiB", "15.78 GiB", "283.44 MiB", "6.25 GiB", "12.00 KiB", own("13.91 GiB")))
    assert found["total_bytes"] == [-(-1577500 * GiB // 100000), 1578500 * GiB // 100000]
    assert found["device_free_bytes"] == [-(-283435 * MiB // 1000), 283445 * MiB // 1000]
    assert found["allocated_bytes"] == [-(-6245 * GiB // 1000), 6255 * GiB // 1000]
    low, high = found["segment_request_bytes"]
    assert low % (2 * MiB) == high % (2 * MiB) == 0 and 2505 * GiB // 1000 <= low < high <= 2515 * GiB // 1000


def test_bytes_are_exact(tmp_path):
    assert evidence(tmp_path, sentences("2.00 GiB", "80.00 GiB", "0 bytes", "512 bytes", "0 bytes"))["device_free_bytes"] == [0, 0]


@pytest.mark.parametrize("printed, low, high", [("2.00 MiB", 1, MiB), ("20.00 MiB", MiB + 1, 20 * MiB), ("648.00 MiB", 646 * MiB + 1, 648 * MiB)])
def test_the_printed_segment_tells_the_request_that_it_was_for(printed, low, high, tmp_path):
    assert evidence(tmp_path, sentences(printed, "80.00 GiB", "0 bytes", "79.00 GiB", "0 bytes"))["request_bytes"] == [low, high]


def test_free_blocks_of_private_pools_are_taken_off_what_is_printed_as_allocated(tmp_path):
    found = evidence(tmp_path, sentences("2.00 MiB", "80.00 GiB", "0 bytes", "1000.00 MiB", "50.00 MiB", pools="with 17.00 MiB allocated in private pools (e.g., CUDA Graphs), "))
    def least(hundredths): return -(-(2 * hundredths - 1) * MiB // 200)
    def most(hundredths): return (2 * hundredths + 1) * MiB // 200
    assert found["allocated_bytes"] == [least(100000) - most(1700), most(100000) - least(1700)]
    assert found["reserved_bytes"] == [least(100000) + least(5000), most(100000) + most(5000)]


def test_the_verdict_has_the_members_of_a_receipts(tmp_path):
    verdict = triage(tmp_path, brackets("3.00 GiB", "24.00 GiB", "22.00 GiB", "300.00 MiB", "22.30 GiB")).only["verdict"]
    assert verdict.keys() == {"primary", "contributing", "rejected", "undecidable", "qualifiers", "exit_status", "fix", "proof", "numbers", "hypotheses"}
    assert verdict["hypotheses"]["live_set"]["inequality"].startswith("available ")
    assert verdict["numbers"]["threshold_bytes"] in range(24 * GiB * 14 // 1000, 24 * GiB * 16 // 1000)


def test_the_screen_says_that_a_request_is_the_least_that_was_printed(tmp_path):
    exact = sentences("30.00 MiB", "80.00 GiB", "0 bytes", "79.00 GiB", "0 bytes")
    assert "numbers are those of the least" in triage(tmp_path, exact + "\n").screen


def test_what_is_not_recognised_is_counted_apart(tmp_path):
    text = sentences("2.00 GiB", "80.00 GiB", "0 bytes", "79.00 GiB", "0 bytes") + "\n\nCUBLAS_STATUS_ALLOC_FAILED\n"
    assert "1 memory error, 1 not recognised in" in triage(tmp_path, text).screen
