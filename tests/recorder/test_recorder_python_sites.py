# SPDX-License-Identifier: Apache-2.0
"""The recorder in real interpreters, told of blocks by a fake allocator: births have the Python frames that the program saw
itself, by function and line, and the program notices nothing. python_job.py has the scenarios."""

import ast
import struct
import sys

import pytest

from interpreters import OLDER, WALKED
from recorded import BLOCK_ALLOC, BUILD, LIBRARY, TOP, read_ring, records_of
from sidecar import read_sidecar

NONE, WAITING, WALKING, UNKNOWN = 0, 1, 2, 3
LAYOUT_UNKNOWN = 4
JOB = TOP / "tests/recorder/python_job.py"


@pytest.fixture(params=WALKED)
def python(request):
    return WALKED[request.param]


@pytest.fixture
def job(record):
    def run(python, scenario, **environment):
        return record(command=[python, JOB, BUILD, scenario], PYTHONDONTWRITEBYTECODE=1, **environment)

    return run


def python_word(ring):
    """The state of the Python frames, and the version."""
    data = ring.read_bytes()
    return data[325], struct.unpack_from("<I", data, 352)[0]


def blocks_by_number(ring):
    return {block["address"] >> 20: block["link"] for block in records_of(read_ring(ring), BLOCK_ALLOC)}


def check_sites(ring, lines):
    """Each block whose place the program told has that place."""
    sidecar = read_sidecar(ring)
    blocks = blocks_by_number(ring)
    for number, frames in map(ast.literal_eval, lines):
        assert sidecar.frames(blocks[number]) == frames


def test_births_have_the_frames_that_the_program_saw_itself(python, job):
    run = job(python, "plain")
    assert (run.done.returncode, run.done.stderr) == (0, "")
    (ring,) = run.folder.glob("*.bin")
    lines = run.done.stdout.splitlines()
    assert len(lines) == 5
    check_sites(ring, lines)
    state, version = python_word(ring)
    assert state == WALKING
    assert WALKED[f"{version // 10000}.{version // 100 % 100}"] == python


@pytest.mark.parametrize("wish", ["python", "both"])
def test_a_place_that_is_come_back_to_has_the_frames_that_the_program_sees_each_time(python, job, wish):
    run = job(python, "again", MEMSNAP_STACK=wish)
    (ring,) = run.folder.glob("*.bin")
    lines = run.done.stdout.splitlines()
    assert len(lines) == 1400
    check_sites(ring, lines)


@pytest.mark.parametrize("wish", ["native", "both"])
def test_native_walks_below_switched_stacks_do_no_harm(job, wish):
    run = job(sys.executable, "greenlets", MEMSNAP_STACK=wish)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    ((_, header),) = [(ring, read_ring(ring)["header"]) for ring in run.folder.glob("*.bin")]
    assert header["no_stack"] <= 1  # the first birth, before libunwind was there


def test_a_forked_child_has_frames_of_its_own(python, job):
    run = job(python, "forked")
    rings = run.rings()
    assert len(rings) == 2
    lines = run.done.stdout.splitlines()
    both = list(run.folder.glob("*.bin"))
    parent = next(ring for ring in both if 1 in blocks_by_number(ring))
    child = next(ring for ring in both if ring != parent)
    assert python_word(parent) == python_word(child)
    assert python_word(child)[0] == WALKING
    check_sites(child, [line for line in lines if line.startswith("(2,")][:1])
    check_sites(parent, lines[:1])


def test_a_worker_has_frames_while_the_main_thread_only_waits_for_it(python, job):
    if python == WALKED.get("3.9"):
        pytest.skip("only the main thread verifies it there")
    run = job(python, "in_a_worker")
    (ring,) = run.folder.glob("*.bin")
    (line,) = run.done.stdout.splitlines()
    check_sites(ring, [line])


def test_memory_taken_before_the_driver_was_seen_has_no_frames_and_that_of_later_has(python, job):
    run = job(python, "before_driver")
    (ring,) = run.folder.glob("*.bin")
    assert python_word(ring)[0] == WALKING
    (line,) = run.done.stdout.splitlines()
    check_sites(ring, [line])


def test_an_allocation_asks_the_interpreter_for_nothing(python, job):
    """Its thread may hold an allocator's lock, and in a child of fork the interpreter's locks may be held for ever."""
    run = job(python, "without_driver")
    (ring,) = run.folder.glob("*.bin")
    state, version = python_word(ring)
    assert (state, version != 0) == (WAITING, True)
    assert read_sidecar(ring).codes == {}


def test_a_filter_on_system_calls_does_not_keep_it_from_being_verified(python, job):
    run = job(python, "plain", preload=f"{LIBRARY} {BUILD}/libno_direct_reads.so")
    (ring,) = run.folder.glob("*.bin")
    assert python_word(ring)[0] == WALKING


@pytest.mark.parametrize("wish", ["off", "native"])
def test_where_no_python_frames_are_wanted_the_interpreter_is_left_alone(python, job, wish):
    run = job(python, "plain", MEMSNAP_STACK=wish)
    (ring,) = run.folder.glob("*.bin")
    assert python_word(ring) == (NONE, 0)
    assert read_sidecar(ring).codes == {}


def test_the_job_says_and_returns_what_it_would_without_us(python, job):
    with_us, without_us = job(python, "quiet"), job(python, "quiet", MEMSNAP_DISABLE=1)
    for run in (with_us, without_us):
        assert (run.done.returncode, run.done.stdout, run.done.stderr) == (3, "the job's own words 7\n", "")
    assert len(list(with_us.folder.glob("*.bin"))) == 1


@pytest.mark.parametrize("disabled", [0, 1])
def test_switched_off_nothing_of_the_interpreter_is_changed(python, job, disabled):
    run = job(python, "deallocator", MEMSNAP_DISABLE=disabled)
    assert (run.done.stdout, run.done.stderr) == (f"{disabled == 1}\n", "")


@pytest.mark.skipif(OLDER is None, reason="no older interpreter here")
def test_an_unknown_interpreter_is_said_once_and_recorded_without_frames(job):
    run = job(OLDER, "quiet")
    (ring,) = run.folder.glob("*.bin")
    assert python_word(ring)[0] == UNKNOWN
    assert read_ring(ring)["header"]["trouble"] == LAYOUT_UNKNOWN
    assert run.done.returncode == 3 and run.done.stdout == "the job's own words 7\n"
    (line,) = run.done.stderr.splitlines()
    assert "this Python is not known well enough to walk its frames" in line
