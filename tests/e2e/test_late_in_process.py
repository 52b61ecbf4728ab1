# SPDX-License-Identifier: Apache-2.0
"""The recorder in real PyTorch jobs that it was not preloaded into: its live table is what PyTorch's own memory_snapshot() tells."""

import collections
import json
import subprocess

import pytest

from conftest import BUILD, RECORDER

CHECK = BUILD / "tests/recorder/ring_check"
INJECTED, ATTACHED, DETACHED = 1, 2, 3
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def read_ring(path):
    return json.loads(subprocess.run([CHECK, path], capture_output=True, text=True, check=True).stdout)


def header_word(path, offset):
    return int.from_bytes(path.read_bytes()[offset : offset + 4], "little")


def bag(live):
    return collections.Counter((one["address"], one["size"]) for one in live)


@pytest.mark.parametrize("ending", ["stay", "leave"])
@pytest.mark.parametrize("config", [{}, EXPANDABLE], ids=["segments", "expandable"])
def test_a_job_that_was_attached_to_late_has_exactly_the_blocks_that_pytorch_tells(bench, config, ending):
    truth = bench.folder / "truth.json"
    job = bench.run("late/in_process.py", RECORDER, truth, ending, record=False, **config)
    assert (job.code, job.stderr) == (0, "")
    assert job.stdout.splitlines() == ["attach 0", "told True", *(["detach 0"] if ending == "leave" else [])]
    ring = read_ring(job.ring)
    assert ring["violations"] == []
    told = collections.Counter((address, size) for _, address, size in json.loads(truth.read_text()))
    live = bag(ring["live"])
    assert told - live == collections.Counter()
    # What is live besides are the segments and pieces that the blocks lie in.
    others = live - told
    assert all(any(begin <= address < begin + size for begin, size in others) for address, _ in told)
    assert header_word(job.ring, 368) == (DETACHED if ending == "leave" else ATTACHED)


def test_a_job_whose_launcher_dropped_the_preload_is_recorded_from_its_birth(bench):
    job = bench.run("late/plain.py", record=False, CUDA_INJECTION64_PATH=str(RECORDER))
    assert (job.code, job.stderr) == (0, "")
    ring = read_ring(job.ring)
    assert (ring["violations"], ring["header"]["device_unknown"], ring["header"]["start_mode"], header_word(job.ring, 368)) == ([], 0, 0, INJECTED)
    last = [one for one in ring["records"] if one["kind"] in (1, 2)][-1]
    assert f"live {last['allocated']}\n" == job.stdout


def test_a_preloaded_job_is_not_injected_into_as_well(bench):
    job = bench.run("late/plain.py", CUDA_INJECTION64_PATH=str(RECORDER))
    assert (job.code, job.stderr, header_word(job.ring, 368)) == (0, "", 0)


@pytest.mark.parametrize("environment", [{"MEMSNAP_DISABLE": "1"}, {"CUDA_INJECTION64_PATH": "/no/such/library.so"}], ids=["disabled", "another"])
def test_an_injected_job_that_is_to_be_left_alone_is(bench, environment):
    job = bench.run("late/plain.py", record=False, **{"CUDA_INJECTION64_PATH": str(RECORDER)} | environment)
    assert (job.code, job.stderr, job.rings) == (0, "", [])


def test_an_injected_job_waits_to_be_armed_where_that_is_wanted(bench):
    job = bench.run("late/plain.py", record=False, CUDA_INJECTION64_PATH=str(RECORDER), MEMSNAP_ARM="standby")
    assert (job.code, job.stderr) == (0, "")
    assert (header_word(job.ring, 316), header_word(job.ring, 368)) == (2, INJECTED)
