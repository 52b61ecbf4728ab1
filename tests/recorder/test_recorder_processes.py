# SPDX-License-Identifier: Apache-2.0
"""The recorder as a guest: files, children, exits, and processes that are none of its business."""

import os
import pathlib
import random
import signal
import stat
import struct
import subprocess
import sys
import time

import pytest

from recorded import BLOCK_ALLOC, BUILD, LIBRARY, clean_environment, read_ring, records_of


def test_the_file_is_private_and_named_after_the_process(record):
    run = record("simple")
    (file,) = run.folder.glob("*.bin")
    header = read_ring(file)["header"]
    assert file.name == f"ring-{header['pid']}.bin"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size == header["file_bytes"]


def test_the_output_template_and_ranks_are_read_when_the_file_is_made(record):
    run = record("simple", MEMSNAP_OUT="a-%r-%p.bin", RANK=3, LOCAL_RANK=1, WORLD_SIZE=8, SLURM_JOB_ID="77")
    (file,) = run.folder.glob("*.bin")
    header = read_ring(file)["header"]
    assert file.name == f"a-3-{header['pid']}.bin"
    assert (header["rank"], header["local_rank"], header["world_size"], header["job_key_source"]) == (3, 1, 8, 1)


@pytest.fixture(params=["unnamed files", "no unnamed files"])
def preload(request):
    return LIBRARY if request.param == "unnamed files" else f"{LIBRARY} {BUILD}/libno_unnamed_files.so"


def test_an_existing_file_is_never_overwritten(record, preload):
    first = record("simple", MEMSNAP_OUT="ring.bin", preload=preload)
    before = (first.folder / "ring.bin").read_bytes()
    run = record("oom", MEMSNAP_OUT="ring.bin", MEMSNAP_QUIET=1, preload=preload)
    assert (first.folder / "ring.bin").read_bytes() == before
    assert read_ring(run.folder / "ring-2.bin")["header"]["failure_count"] == 1
    assert stat.S_IMODE((run.folder / "ring-2.bin").stat().st_mode) == 0o600


def test_a_symbolic_link_is_not_followed(record, tmp_path, preload):
    (tmp_path / "ring.bin").symlink_to(tmp_path / "elsewhere")
    record("simple", MEMSNAP_OUT="ring.bin", preload=preload)
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "ring-2.bin").exists()


@pytest.mark.parametrize("command", [["/bin/true"], ["bash", "-c", "exit 0"], ["git", "--version"], [sys.executable, "-c", "pass"]])
def test_programs_without_a_gpu_leave_nothing(record, command):
    run = record(command=command)
    assert run.done.returncode == 0
    assert run.done.stderr == ""
    assert list(run.folder.iterdir()) == []


def test_switched_off_it_records_nothing(record):
    run = record("oom", MEMSNAP_DISABLE=1)
    assert run.done.stdout.startswith("done")
    assert run.done.stderr == ""
    assert run.rings() == []


def test_a_process_with_more_rights_than_its_user_is_not_recorded(record):
    run = record("oom", preload=f"{LIBRARY} {BUILD}/libsecure_process.so")
    assert run.done.stdout.startswith("done")
    assert run.done.stderr == ""
    assert list(run.folder.iterdir()) == []


@pytest.mark.parametrize("scenario", ["fork", "raw_fork"])
def test_a_child_starts_its_own_file_and_leaves_its_parents_alone(record, scenario):
    run = record(scenario)
    parent, child = sorted(run.rings(), key=lambda ring: -len(ring["records"]))
    assert parent["violations"] == child["violations"] == []
    assert child["header"]["parent_pid"] == parent["header"]["pid"]
    assert [one["size"] for one in child["records"]] == [777 * 512]
    assert 777 * 512 not in [one["size"] for one in parent["records"]]
    assert parent["header"]["exit_mark"] == len(parent["records"]) + 1
    assert child["header"]["exit_mark"] == (2 if scenario == "fork" else 0)  # _exit runs no handler


def test_an_idle_child_makes_no_file_and_does_not_mark_its_parents_exit(record):
    ring = record("idle_child").ring()
    assert ring["header"]["exit_status"] == 0
    assert ring["header"]["exit_mark"] == len(ring["records"]) + 1


def test_a_child_that_only_frees_makes_no_file(record):
    ring = record("freeing_child").ring()
    assert ring["header"]["exit_mark"] == len(ring["records"]) + 1


def test_a_child_is_never_forked_while_the_side_thread_holds_the_dynamic_linkers_lock(record):
    preload = f"{BUILD / 'libslow_linker.so'} {LIBRARY}"
    run = record(command=[BUILD / "forks_and_loads"], preload=preload, FAKE_CUDA=BUILD / "libfake_cuda.so", MEMSNAP_SAMPLE_MS=0)
    assert run.done.returncode == 0


def test_exec_leaves_a_whole_file_and_the_new_program_starts_another(record):
    run = record("exec")
    before, after = run.rings()
    assert before["violations"] == after["violations"] == []
    assert sorted(ring["header"]["exit_mark"] != 0 for ring in (before, after)) == [False, True]
    assert before["header"]["pid"] == after["header"]["pid"]


def test_an_exit_is_marked_with_its_status(record):
    run = record("exit", 7)
    assert run.done.returncode == 7
    ring = run.ring()
    assert (ring["header"]["exit_mark"], ring["header"]["exit_status"]) == (len(ring["records"]) + 1, 7)


def test_a_killed_process_has_no_exit_mark_and_lost_nothing(record):
    run = record("killed")
    assert run.done.returncode == -signal.SIGKILL
    ring = run.ring()
    assert ring["header"]["exit_mark"] == 0
    assert (len(ring["records"]), ring["gap_count"]) == (9, 0)


def test_a_clean_exit_gives_unused_space_back_and_a_failed_one_keeps_everything(record, tmp_path):
    def blocks(scenario, **environment):
        folder = tmp_path / scenario / str(len(environment))
        folder.mkdir(parents=True)
        record(scenario, MEMSNAP_OUT=folder / "r.bin", MEMSNAP_RING_MB=8, MEMSNAP_QUIET=1, **environment)
        found = (folder / "r.bin").stat()
        assert read_ring(folder / "r.bin")["violations"] == []
        return found.st_blocks * 512, found.st_size

    kept, size = blocks("simple", MEMSNAP_KEEP="always")
    assert kept >= size
    given_back, size = blocks("simple")
    assert given_back < size // 2
    failed, size = blocks("oom")
    assert failed >= size


def test_what_comes_after_a_clean_exit_is_not_written_where_space_was_given_back(record, tmp_path):
    def records_after_exit(**environment):
        folder = tmp_path / str(len(environment))
        folder.mkdir()
        preload = f"{LIBRARY} {BUILD}/liblate_call.so"
        run = record("simple", MEMSNAP_OUT=folder / "r.bin", preload=preload, **environment)
        assert run.done.stdout.endswith("called late\n")
        ring = read_ring(folder / "r.bin")
        return len(ring["records"]) + 1 - ring["header"]["exit_mark"]

    assert records_after_exit(MEMSNAP_KEEP="always") == 2  # the try and its success
    assert records_after_exit() == 0


@pytest.mark.parametrize("repeat", range(20))
def test_killed_at_any_instant_it_loses_at_most_the_records_in_flight(tmp_path, repeat):
    witness = tmp_path / "witness"
    witness.write_bytes(bytes(4096))
    busy = subprocess.Popen(
        [BUILD / "program", "busy"],
        cwd=tmp_path,
        env=clean_environment(LD_PRELOAD=LIBRARY, MEMSNAP_RING_MB=1, MEMSNAP_TABLE_ENTRIES=4096, WITNESS=witness),
    )
    while struct.unpack("<Q", witness.read_bytes()[:8])[0] == 0:
        assert busy.poll() is None
        time.sleep(0.001)
    time.sleep(random.Random(repeat).random() * 0.05)
    busy.kill()
    busy.wait()
    (file,) = tmp_path.glob("*.bin")
    ring = read_ring(file)
    finished = struct.unpack("<Q", witness.read_bytes()[:8])[0]
    threads = 4
    assert ring["violations"] == []
    assert ring["header"]["head"] >= finished  # each finished operation has its ticket
    assert ring["gap_count"] <= 2 * threads  # and its record, but for those in flight
    assert len(ring["live"]) <= threads


@pytest.mark.parametrize(
    ("scenario", "every_step", "stride", "states"),
    [("step_first_event", 2000, 7, 8), ("step_hooks", 50000, 7, 200), ("step_oom", 20000, 97, 80), ("step_contexts", 20000, 31, 100),
     ("step_lapped", 50000, 7, 30), ("step_native", 200000, 7, 50)],
)
def test_after_every_instruction_of_every_hook_the_file_is_whole(tmp_path, scenario, every_step, stride, states):
    done = subprocess.run(
        [BUILD / "step_kill", tmp_path, str(every_step), str(stride),
         BUILD / ("stacks" if scenario == "step_native" else "program"), scenario],
        cwd=tmp_path,
        env=clean_environment(LD_PRELOAD=LIBRARY, MEMSNAP_RING_MB=1, MEMSNAP_TABLE_ENTRIES=4096 if scenario == "step_lapped" else 64,
                              MEMSNAP_BOUNDARY_ENTRIES=64, MEMSNAP_QUIET=1, FAKE_CUDA=BUILD / "libfake_cuda.so"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[2]) >= states, done.stdout
