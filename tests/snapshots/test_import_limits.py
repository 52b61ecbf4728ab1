# SPDX-License-Identifier: Apache-2.0
"""What a made-up file may cost: pages, memory, words on the terminal and time are bounded by the file's own length."""

import resource
import subprocess

import imports
import pickles
from imports import replay

MIB, GIB = 1 << 20, 1 << 30


def test_a_small_file_cannot_ask_for_more_pages_than_any_card_has(tmp_path):
    card = pickles.Allocator(expandable=True)
    card.alloc(MIB)
    gone = {"action": "segment_unmap", "addr": 1 << 50, "size": 1 << 47, "stream": 0, "time_us": 1, "frames": []}
    path = imports.written(tmp_path, {"segments": card.described(), "device_traces": [[gone, *card.trace]]})
    done = replay(path)
    assert done.returncode == 4 and "maps more pages than" in done.stderr
    path = imports.written(tmp_path, {"segments": card.described(), "device_traces": [[dict(gone, size=1 << 60), *card.trace]]})
    assert replay(path).returncode == 0


def small_pages(size: int, device: int = 0) -> dict:
    """An expandable segment of 2 MiB pages, free."""
    return {"device": device, "address": (1 << 50) + (device << 45), "total_size": size, "allocated_size": 0, "active_size": 0, "stream": 0, "segment_type": "small",
            "is_expandable": True, "blocks": [{"size": size, "state": "inactive"}]}


def test_pages_made_small_by_one_odd_range_are_refused(tmp_path):
    segment = small_pages(2 * GIB)
    odd = {"action": "segment_map", "addr": segment["address"], "size": 512, "stream": 0, "time_us": 1, "frames": []}
    done = replay(imports.written(tmp_path, {"segments": [segment], "device_traces": [[odd]]}))
    assert done.returncode == 4 and "maps more pages than" in done.stderr


def test_devices_share_the_pages_that_a_file_may_tell_of(tmp_path):
    one, both = [small_pages(300 * GIB)], [small_pages(300 * GIB), small_pages(300 * GIB, 1)]
    assert replay(imports.written(tmp_path, {"segments": one, "device_traces": []})).returncode == 0
    done = replay(imports.written(tmp_path, {"segments": both, "device_traces": []}))
    assert done.returncode == 4 and "maps more pages than" in done.stderr


def test_a_file_that_needs_more_memory_than_there_is_is_an_error_of_the_systems(tmp_path):
    path = imports.written(tmp_path, {"segments": [small_pages(500 * GIB)], "device_traces": []})
    limit = 48 * MIB
    done = subprocess.run([imports.REPLAY, path], capture_output=True, text=True, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.returncode == 5 and "not enough memory for this file" in done.stderr, done.stderr


def test_members_that_are_not_understood_are_named_shortly_and_not_all_of_them(tmp_path):
    members = {f"{index:02}" + "x" * 100_000: None for index in range(20)}
    done = replay(imports.written(tmp_path, {"segments": [], "device_traces": [], **members}))
    assert done.returncode == 0
    assert "00" + "x" * 98 + ", 01x" in done.stderr and "07xx" in done.stderr and done.stderr.endswith("x, and 12 more\n")
    assert len(done.stderr) < 1200


def test_ends_without_a_start_cost_no_search_through_all_open_annotations(tmp_path):
    count = 60_000

    def seconds(path) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        assert replay(path).returncode == 0
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def annotated(name: str, marks: list) -> float:
        told = [{"name": name, "stage": stage, "device": 0, "time_us": 1 + at} for at, (name, stage) in enumerate(marks)]
        return seconds(imports.written(tmp_path, {"segments": [], "device_traces": [], "external_annotations": told}, name))

    usual = annotated("usual.pickle", [("open", "START"), ("open", "END")] * count)
    assert annotated("unmatched.pickle", [("open", "START")] * count + [("unknown", "END")] * count) < 4 * usual
