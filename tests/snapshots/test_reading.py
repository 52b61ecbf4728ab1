# SPDX-License-Identifier: Apache-2.0
"""Snapshots of every writer and release are read as Python itself reads them; what is damaged or hostile is refused with its place."""

import os
import pathlib
import pickle
import random
import subprocess
import sys

import pytest

import pickles
import tables

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
PUBLIC = sorted((TOP.parent / "shared" / "snapshots").glob("*.pickle"))


def read(path: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([BUILD / "tests" / "snapshots" / "snapshot_tables", path], capture_output=True, text=True, timeout=100)


def read_bytes(tmp_path: pathlib.Path, data: bytes) -> subprocess.CompletedProcess:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(data)
    return read(path)


def assert_read_as_python_does(done: subprocess.CompletedProcess, whole):
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == tables.lines(whole)


@pytest.mark.parametrize("writer", pickles.WRITERS)
@pytest.mark.parametrize("expandable", [False, True])
def test_every_writer_of_one_snapshot_gives_the_same_tables(tmp_path, writer, expandable):
    whole = pickles.snapshot(seed=3, events=1500, devices=2, expandable=expandable, total=400 << 20)
    assert any(entry["action"] == "oom" for trace in whole["device_traces"] for entry in trace)
    assert_read_as_python_does(read_bytes(tmp_path, pickles.WRITERS[writer](whole)), whole)


@pytest.mark.parametrize("release", pickles.RELEASES)
@pytest.mark.parametrize("writer", ["protocol 0", "protocol 4", "C++"])
def test_the_schema_of_every_release_is_read(tmp_path, release, writer):
    whole = pickles.as_release(pickles.snapshot(seed=5, events=300), release)
    assert_read_as_python_does(read_bytes(tmp_path, pickles.WRITERS[writer](whole)), whole)


def test_addresses_from_two_to_the_63_on_and_signed_ones_are_the_same_addresses(tmp_path):
    high = pickles.snapshot(seed=2, base=(1 << 63) + (1 << 40), events=50)
    assert_read_as_python_does(read_bytes(tmp_path, pickle.dumps(high)), high)
    as_signed = read_bytes(tmp_path, pickles.by_cpp_writer(high))
    assert_read_as_python_does(as_signed, high)


def test_what_memsnap_adds_and_what_nobody_knows_is_told_apart(tmp_path):
    whole = pickles.snapshot(events=20)
    whole["memsnap"] = {"version": 1, "tap": False, "observations": [{"device": 0, "before_entry": 3, "total_bytes": 80 << 30, "free_bytes": 1 << 30}]}
    whole["weather"] = {"action": ["rain"]}
    whole["segments"][0]["colour"] = 1
    whole["segments"][0]["blocks"][0]["shape"] = (1, 2)
    whole["device_traces"][0][0]["category"] = "activation"
    done = read_bytes(tmp_path, pickle.dumps(whole))
    assert_read_as_python_does(done, whole)
    assert [line for line in done.stdout.splitlines() if line.startswith("ignored")] == [
        "ignored device_traces[][].category", "ignored segments[].blocks[].shape", "ignored segments[].colour", "ignored weather"]
    del whole["weather"]
    whole["memsnap"]["version"] = 2
    assert {"ignored memsnap", "tap true"} <= set(read_bytes(tmp_path, pickle.dumps(whole)).stdout.splitlines())


def test_what_only_some_writers_leave_out_or_call_otherwise_is_understood(tmp_path):
    whole = pickles.snapshot(seed=9, events=120)
    for segment in whole["segments"]:
        segment["blocks"].reverse()
        del segment["allocated_size"], segment["active_size"]
    held = next(block for segment in whole["segments"] for block in segment["blocks"] if block["state"] == "active_allocated")
    held["state"] = "active_awaiting_free"
    next(entry for entry in whole["device_traces"][0] if entry["action"] == "free_completed")["action"] = "free"
    whole["allocator_settings"] |= {"max_split_size": 64 << 20, "garbage_collection_threshold": 0.85, "roundup_power2_divisions": {"1": 4, "2": 1, "32768": 8}}
    done = read_bytes(tmp_path, pickle.dumps(whole))
    assert_read_as_python_does(done, whole)
    assert "settings fixed 67108864 850" in done.stdout and "free_completed" in done.stdout and "active_pending_free" in done.stdout
    whole["host_traces"] = [whole["host_traces"], []]
    assert read_bytes(tmp_path, pickle.dumps(whole)).stdout == done.stdout


def test_frames_may_lack_members_have_more_or_be_missing(tmp_path):
    frames = [{"name": "f", "filename": None, "line": None}, {"filename": "only.py"}, {"name": "g", "line": -1},
              {"name": "h", "filename": "fx.py", "line": 7, "fx_node_op": "call_function", "fx_original_trace": "x" * 70000, "fx_node_info": {"a": 1}},
              {"filename": "scripted_function", "name": "", "line": 3}]
    whole = pickles.snapshot(events=30)
    whole["device_traces"][0][0]["frames"] = frames
    del whole["device_traces"][0][1]["frames"]
    whole["device_traces"][0][2]["frames"] = []
    assert_read_as_python_does(read_bytes(tmp_path, pickle.dumps(whole)), whole)


@pytest.mark.parametrize("whole", [[], {"segments": []}, {"device_traces": []}, {"segments": [], "device_traces": [[], []]}, {"segments": None, "device_traces": [None]}])
def test_a_snapshot_of_nothing_is_one(tmp_path, whole):
    done = read_bytes(tmp_path, pickle.dumps(whole))
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "tap true", done.stderr


@pytest.mark.parametrize("value, noun", [({"weights": [1]}, "a dictionary"), (7, "a number"), ([1, 2], "a list"), ("x", "a text"), (None, "None")])
def test_a_pickle_of_something_else_is_not_a_snapshot(tmp_path, value, noun):
    done = read_bytes(tmp_path, pickle.dumps(value))
    assert done.returncode == 3 and f"is a pickle of {noun}, not a memory snapshot" in done.stderr


def changed(path: list, value):
    def change(whole):
        at = whole
        for step in path[:-1]:
            at = at[step]
        if value is KeyError:
            del at[path[-1]]
        else:
            at[path[-1]] = value
    return change


@pytest.mark.parametrize("path, value, said", [
    (["segments", 1, "blocks", 0, "size"], "512", "segments[1].blocks[0].size is a text, not a number of bytes"),
    (["segments", 1, "blocks", 0, "size"], -512, "segments[1].blocks[0].size is a negative number"),
    (["segments", 1, "blocks", 0, "size"], True, "segments[1].blocks[0].size is a truth value"),
    (["segments", 1, "blocks", 0, "size"], KeyError, "segments[1].blocks[0].size is missing"),
    (["segments", 1, "blocks", 0, "state"], "asleep", "segments[1].blocks[0].state is a text, not a state of a block"),
    (["segments", 1, "blocks", 0, "state"], KeyError, "segments[1].blocks[0] is a dictionary, not a block, which has a `state`"),
    (["segments", 1, "blocks", 0], 7, "segments[1].blocks[0] is a number"),
    (["segments", 0, "total_size"], 1.5, "segments[0].total_size is a number with a fraction"),
    (["segments", 0, "total_size"], 1 << 200, "segments[0].total_size is a number too large"),
    (["segments", 0, "address"], (1 << 64) - 512, "segments[0].total_size reaches beyond the last address"),
    (["segments", 0, "device"], 4000, "segments[0].device is a number, not a device"),
    (["segments", 0, "segment_type"], "medium", "segments[0].segment_type is a text"),
    (["segments", 0, "is_expandable"], 1, "segments[0].is_expandable is a number"),
    (["segments", 0, "blocks"], "none", "segments[0].blocks is a text, not a list of blocks"),
    (["segments", 0, "segment_pool_id"], (1, 2, 3), "segments[0].segment_pool_id is a tuple, not a pair of numbers"),
    (["device_traces", 0, 2, "size"], None, "device_traces[0][2].size is None"),
    (["device_traces", 0, 2, "addr"], KeyError, "device_traces[0][2].addr is missing"),
    (["device_traces", 0, 2, "time_us"], 1e15, "device_traces[0][2].time_us is a number with a fraction"),
    (["device_traces", 0, 2, "frames"], [{"filename": "a", "name": "b", "line": 1}, {"filename": "a", "name": "b", "line": "2"}],
     "device_traces[0][2].frames[1].line is a text, not a line"),
    (["device_traces", 0, 2, "frames"], ["a.py:1"], "device_traces[0][2].frames is a list, not a list of frames"),
    (["device_traces", 0, 2], [], "device_traces[0][2] is a list"),
    (["device_traces", 0], {}, "device_traces[0] is a dictionary"),
    (["device_traces"], "no", "device_traces is a text"),
    (["external_annotations"], [{"name": "x", "stage": "MIDDLE", "device": 0, "time_us": 1}], "external_annotations[0].stage is a text, not START or END"),
    (["allocator_settings", "garbage_collection_threshold"], 3.0, "allocator_settings.garbage_collection_threshold"),
    (["allocator_settings", "roundup_power2_divisions"], {"many": 1}, "allocator_settings.roundup_power2_divisions"),
    (["host_segments", 0, "total_size"], [4096], "host_segments[0].total_size is a list"),
    (["memsnap"], {"version": 1, "observations": [{"device": 0, "before_entry": 1, "total_bytes": 5}]}, "memsnap.observations[0].free_bytes is None, not a number"),
])
@pytest.mark.parametrize("protocol", [0, 4])
def test_a_member_of_a_wrong_kind_is_refused_with_its_path(tmp_path, path, value, said, protocol):
    whole = pickles.snapshot(events=40)
    changed(path, value)(whole)
    done = read_bytes(tmp_path, pickle.dumps(whole, protocol=protocol))
    assert done.returncode == 4 and "[snapshot]" in done.stderr and said in done.stderr, done.stderr


def test_one_object_in_two_places_is_refused_instead_of_copied(tmp_path):
    whole = pickles.snapshot(events=40)
    for path, value, said in [
        (["segments"], [whole["segments"][0]] * 3, "segments[1] is in two places"),
        (["device_traces"], [whole["device_traces"][0]] * 2, "device_traces[1][0] is in two places"),
        (["segments", 1, "blocks"], whole["segments"][0]["blocks"], "segments[1].blocks[0] is in two places"),
    ]:
        changed(path, value)(one := dict(whole, segments=[dict(segment) for segment in whole["segments"]]))
        if path == ["segments"]:
            one["segments"] = value
        done = read_bytes(tmp_path, pickle.dumps(one))
        assert done.returncode == 4 and said in done.stderr, done.stderr


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize("protocol, opcode, deed", [(0, "GLOBAL", "imported posix.system"), (2, "GLOBAL", "imported posix.system"),
                                                     (4, "STACK_GLOBAL", "imported posix.system")])
def test_a_pickle_that_calls_something_is_refused_by_its_opcode_before_anything_is_called(tmp_path, protocol, opcode, deed):
    whole = pickles.snapshot(events=10)
    whole["segments"][0]["blocks"][0]["state"] = Evil()
    data = pickle.dumps(whole, protocol=protocol)
    done = read_bytes(tmp_path, data)
    assert done.returncode == 4 and "[pickle]" in done.stderr
    assert f"the opcode {opcode} is refused: it would have {deed}" in done.stderr.replace("nt.", "posix."), done.stderr
    offset = int(done.stderr.split("byte offset ")[1].split()[0])
    assert data[offset] == {"GLOBAL": ord("c"), "STACK_GLOBAL": 0x93}[opcode]


def test_every_cut_off_file_is_refused(tmp_path):
    whole = pickles.snapshot(events=10)
    for protocol in (0, 2, 4):
        data = pickle.dumps(whole, protocol=protocol)
        for end in range(0, len(data), 97):
            done = read_bytes(tmp_path, data[:end])
            assert done.returncode == 4 and "[pickle]" in done.stderr, (protocol, end, done.stderr)


def test_bytes_behind_the_end_change_nothing(tmp_path):
    whole = pickles.snapshot(events=10)
    done = read_bytes(tmp_path, pickle.dumps(whole) + b"\xff" * 5000)
    assert done.stdout.splitlines() == tables.lines(whole), done.stderr


def peak_kib(tmp_path: pathlib.Path, data: bytes) -> int:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(data)
    done = subprocess.run([BUILD / "tests" / "snapshots" / "snapshot_tables", "--count", path], capture_output=True, text=True, check=True)
    return int(done.stdout.split("peak ")[1].split()[0])


def trace_of(count: int, is_shared: bool) -> dict:
    """Texts and pools are objects of each entry, as PyTorch makes them; frames are one of 50 stacks, or equal ones."""
    random_ = random.Random(7)
    frames = [{"name": f"f{at}", "filename": f"/job/{at}.py", "line": at} for at in range(100)]
    paths = [random_.sample(frames, 20) for _ in range(50)]

    def entry(at):
        path = random_.choice(paths)
        return {"action": "alloc", "addr": 512 * at, "size": 512, "stream": 0, "time_us": at, "compile_context": "".join(["N/", "A"]), "user_metadata": "",
                "pool_id": (0, at % 2), "frames": path if is_shared else [dict(frame) for frame in path]}

    return {"segments": [], "device_traces": [[entry(at) for at in range(count)]]}


def growth(tmp_path, writer: str, is_shared: bool, few: int = 2_000, many: int = 22_000) -> tuple[float, float]:
    """Bytes of memory and of file for one entry more."""
    files = [pickles.WRITERS[writer](trace_of(count, is_shared)) for count in (few, many)]
    return 1024 * (peak_kib(tmp_path, files[1]) - peak_kib(tmp_path, files[0])) / (many - few), (len(files[1]) - len(files[0])) / (many - few)


@pytest.mark.parametrize("writer", ["protocol 0", "protocol 2", "protocol 4"])
def test_an_entry_with_shared_frames_costs_a_bounded_number_of_bytes(tmp_path, writer):
    memory_bytes, _ = growth(tmp_path, writer, is_shared=True)
    assert memory_bytes < 260


def test_a_file_without_memo_costs_memory_by_its_entries_not_by_its_size(tmp_path):
    memory_bytes, file_bytes = growth(tmp_path, "C++", is_shared=False)
    assert memory_bytes < 260 and file_bytes > 1000


def test_a_file_whose_memo_shares_nothing_costs_no_more_than_a_small_multiple_of_its_size(tmp_path):
    memory_bytes, file_bytes = growth(tmp_path, "protocol 4", is_shared=False)
    assert memory_bytes < 2 * file_bytes


@pytest.mark.skipif(not PUBLIC, reason="the public snapshots are not beside the checkout")
@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: path.stem)
def test_a_public_snapshot_is_read_as_python_reads_it(path):
    with open(path, "rb") as file:
        whole = pickle.load(file)
    assert_read_as_python_does(read(path), whole)
