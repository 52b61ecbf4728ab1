# SPDX-License-Identifier: Apache-2.0
"""Traces of PyTorch's profiler as recordings: the events are those of the ring of the same run, and what is no such trace is refused."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
REPLAY, ORACLE, RECORDER = BUILD / "replay/memsnap-replay", BUILD / "oracle/memsnap-oracle", BUILD / "interpose/libmemsnap.so"
BLOCK = re.compile(r"^(\d+) \d+ (block_alloc|block_free|block_oom|initial) (\d+) - (0x[0-9a-f]+) (\d+).*? allocated=(\d+) reserved=(\d+)", re.M)


def replay(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([REPLAY, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def profiled(folder: pathlib.Path, name: str, *devices: str) -> pathlib.Path:
    """Runs the job recorded; its trace and its ring are left in the folder."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MEMSNAP_", "SIMCUDA_"))}
    environment = inherited | {"MEMSNAP_BUILD": str(BUILD), "TORCH_CPP_LOG_LEVEL": "ERROR", "LD_PRELOAD": str(RECORDER)}
    job = pathlib.Path(__file__).with_name("profiled_job.py")
    command = [TOP / "scripts/with_simcuda", "--devices", str(len(devices)), "--", sys.executable, job, name, *devices]
    done = subprocess.run(list(map(str, command)), env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / name


def ring_beside(trace: pathlib.Path) -> pathlib.Path:
    (ring,) = trace.parent.glob("ring-*.bin")
    return ring


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> pathlib.Path:
    return profiled(tmp_path_factory.mktemp("profiled"), "trace.json", "cuda:0")


def blocks(path: pathlib.Path) -> list[tuple]:
    """(kind, device, address, size, allocated, reserved) of each report, in order."""
    return [found.groups()[1:] for found in BLOCK.finditer(replay("dump", path).stdout)]


def receipt_of(path: pathlib.Path, folder: pathlib.Path) -> dict:
    written = folder / "receipt.json"
    done = replay(path, "--json", written, "--force")
    assert done.returncode in (0, 10, 11), done.stderr
    return json.loads(written.read_text())


def test_the_blocks_of_a_trace_are_those_of_the_ring_of_the_same_run(trace):
    told, seen = blocks(trace), blocks(ring_beside(trace))

    assert len(told) > 80 and {kind for kind, *_ in told} == {"block_alloc", "block_free", "block_oom"}
    # The ring began earlier and ended later.
    begin = seen.index(told[0])
    assert told == seen[begin:begin + len(told)]


def test_the_trace_begins_with_what_the_job_frees_of_before_and_knows_its_steps_and_labels(trace, tmp_path):
    dumped = replay("dump", trace).stdout

    older = re.findall(r" initial 0 - 0x[0-9a-f]+ (\d+)", dumped)
    assert str(3 << 20) in older
    receipt = json.loads(replay(trace, "--json", "-", "--with-names").stdout)
    assert "my label" in {phase["name"] for phase in receipt["names"]["phases"]}
    assert receipt["evidence"]["growth"]["boundary_count"] == 3
    assert replay("import", trace, tmp_path / "imported.bin").returncode == 0
    texts = (tmp_path / "imported.bin.names").read_bytes()
    assert all(text in texts for text in (b"ProfilerStep#0", b"ProfilerStep#2", b"ProfilerStep##", b"Optimizer.step#SGD.step"))
    assert dumped.count(" phase_begin ") == dumped.count(" phase_end ") >= 6


def test_the_failure_of_a_trace_is_an_incident_of_which_nothing_is_guessed(trace, tmp_path):
    receipt, of_ring = receipt_of(trace, tmp_path), receipt_of(ring_beside(trace), tmp_path)

    assert receipt["capture"]["origin"] == "profiler_trace" and receipt["capture"]["start_mode"] == "late"
    failure, ledgers = receipt["evidence"]["failure"], receipt["evidence"]["ledgers"]
    assert failure["request_bytes"] == of_ring["evidence"]["failure"]["request_bytes"] == 1 << 40
    for known in ("reserved_bytes", "allocated_bytes"):
        assert ledgers[known] == of_ring["evidence"]["ledgers"][known]
    assert ledgers["total_bytes"] is None and ledgers["device_free_bytes"] is None
    assert receipt["verdict"]["primary"] in (None, of_ring["verdict"]["primary"])
    assert receipt["references"][0]["kind"] == "profiler_trace" and receipt["references"][0]["size_bytes"] == trace.stat().st_size


def test_the_oracle_agrees_about_the_ring_that_a_trace_becomes(trace, tmp_path):
    ring, receipt = tmp_path / "imported.bin", tmp_path / "receipt.json"
    assert replay("import", trace, ring).returncode == 0
    assert replay(trace, "--json", receipt).returncode in (0, 10, 11)

    judged = subprocess.run([ORACLE, "--receipt", receipt, ring], capture_output=True, text=True, timeout=120)

    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_the_same_trace_gives_the_same_receipt_compressed_or_not_but_for_its_reference(trace, tmp_path):
    compressed = tmp_path / "trace.json.gz"
    compressed.write_bytes(gzip.compress(trace.read_bytes()))

    plain, other = receipt_of(trace, tmp_path), receipt_of(compressed, tmp_path)

    assert plain == receipt_of(trace, tmp_path)
    assert plain["evidence"] == other["evidence"] and plain["verdict"] == other["verdict"] and plain["references"] != other["references"]


def test_devices_of_a_compressed_trace_are_kept_apart(tmp_path):
    trace = profiled(tmp_path, "trace.json.gz", "cuda:0", "cuda:1")
    told, seen = blocks(trace), blocks(ring_beside(trace))

    for device in "01":
        mine, theirs = ([report for report in reports if report[1] == device] for reports in (told, seen))
        begin = theirs.index(mine[0])
        assert len(mine) > 50 and mine == theirs[begin:begin + len(mine)]


def test_exported_memory_timelines_are_refused_with_the_way_out(trace):
    for name in ("timeline.json", "timeline.raw.json.gz"):
        done = replay(trace.with_name(name))
        assert done.returncode == 3 and "is an exported memory timeline" in done.stderr and "export_chrome_trace()" in done.stderr
        assert str(trace.with_name(name)) in done.stderr


def test_a_trace_of_the_cpu_alone_says_that_it_has_no_device_memory(tmp_path):
    (tmp_path / "cpu.json").write_text(json.dumps({"traceEvents": [
        {"ph": "i", "name": "[memory]", "ts": 1, "pid": 1, "args": {"Device Type": 0, "Device Id": -1, "Addr": 64, "Bytes": 4}}]}))

    done = replay(tmp_path / "cpu.json")

    assert done.returncode == 3 and "no device memory events in it (1 of the CPU's memory)" in done.stderr and "profile_memory=True" in done.stderr


@pytest.mark.parametrize("content, code, said", [
    (b'{"traceEvents": [}', 4, "17"),
    (b'{"traceEvents": [{"name": "[memory]"', 4, "36"),
    (b"\x1f\x8b\x08\x00", 4, "the compressed file ends early"),
    (b'{"a": 1}', 3, "is JSON, but not a trace of PyTorch's profiler"),
    (b"[" * 1000, 4, "nested too deeply"),
])
def test_damaged_and_hostile_files_are_refused_with_their_place(tmp_path, content, code, said):
    path = tmp_path / "trace.json"
    path.write_bytes(content)

    for command in ((), ("check",), ("dump",)):
        done = replay(*command, path)
        assert done.returncode == code and said in done.stderr and str(path) in done.stderr and done.stdout == ""


def test_a_receipt_is_still_refused_as_one(trace, tmp_path):
    receipt_of(trace, tmp_path)

    done = replay(tmp_path / "receipt.json")

    assert done.returncode == 3 and "is a receipt already" in done.stderr


def test_a_long_trace_is_read_in_bounded_memory(tmp_path):
    """400 MB of other events around a hundred of memory, through a pipe of gzip."""
    path = tmp_path / "long.json.gz"
    other = b'{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, "args": {"Input Dims": [[1, 2], [3, 4]]}},\n'
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"traceEvents": [\n')
        for index in range(100):
            file.write(other * 30_000)
            event = {"ph": "i", "name": "[memory]", "ts": index, "pid": 1, "args": {
                "Device Type": 1, "Device Id": 0, "Addr": 4096 + 512 * index, "Bytes": 512, "Total Allocated": 512 * (index + 1), "Total Reserved": 2**21}}
            file.write(json.dumps(event).encode() + (b",\n" if index < 99 else b"\n"))
        file.write(b"]}")
    measure = "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; " \
              "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"

    done = subprocess.run([sys.executable, "-c", measure, REPLAY, path], capture_output=True, text=True, timeout=300)

    code, peak_kib = map(int, done.stdout.split())
    assert code == 0, done.stderr
    assert peak_kib < 120 * 1024


def test_ranges_that_are_all_open_at_once_are_left_out_beyond_what_a_program_can_nest(tmp_path):
    """A small file of more than a million of them, and of one event of memory."""
    path = tmp_path / "open.json.gz"
    event = {"ph": "i", "name": "[memory]", "ts": 1, "pid": 1,
             "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": 512, "Total Allocated": 512, "Total Reserved": 2**21}}
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(b'{"traceEvents": [' + json.dumps(event).encode())
        file.write(b',{"ph":"X","cat":"user_annotation","name":"a","ts":2,"dur":9}' * (2**20 + 5) + b"]}")

    done = replay(path)

    assert done.returncode == 0
    assert "5 ranges behind the first 1048576 of the file are left out" in done.stderr
    assert f"{2**20 - 1024} ranges inside 1024 others or more are left out" in done.stderr
