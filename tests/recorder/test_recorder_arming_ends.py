# SPDX-License-Identifier: Apache-2.0
"""Arming and disarming a job that is killed meanwhile, that has no room, that forks, and that ends."""

import contextlib
import errno
import json
import random
import re
import resource
import signal
import subprocess
import time

import pytest

from armed import DISARM, DONE, HEADER_BYTES, RECORD, REFUSED, ask, put, whole, word
from recorded import BLOCK_ALLOC, BUILD, clean_environment, read_ring, records_of

REPLAY, ORACLE = BUILD.parents[1] / "replay/memsnap-replay", BUILD.parents[1] / "oracle/memsnap-oracle"


# ---- at any instant


@pytest.mark.parametrize(("mode", "rounds", "states"), [("standby", 2, 60), ("cold", 1, 50), ("recording", 1, 25)])
def test_after_every_instruction_of_arming_and_disarming_the_file_is_whole(tmp_path, mode, rounds, states):
    done = subprocess.run(
        [BUILD / "step_kill", tmp_path, "30000", "7", BUILD / "arming_steps", str(rounds)],
        cwd=tmp_path,
        env=clean_environment(MEMSNAP_ARM=mode, MEMSNAP_RING_MB=1, MEMSNAP_TABLE_ENTRIES=64, MEMSNAP_BOUNDARY_ENTRIES=64, MEMSNAP_STACK="off"),
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) checks", done.stdout).group(1)) >= states


@pytest.mark.parametrize("mode", ["cold", "standby"])
@pytest.mark.parametrize("repeat", range(5))
def test_killed_at_any_instant_while_it_is_armed_and_disarmed_under_load_it_leaves_whole_files(job, mode, repeat):
    one = job(mode, MEMSNAP_RING_MB=4)
    one.tell("churn", 4)
    path = one.file()
    ask(path, RECORD)
    put(path, "arm_request", 100 << 8 | DISARM)
    time.sleep(random.Random(repeat).random())
    one.kill()
    for path in one.files():
        assert read_ring(path)["violations"] == []


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_no_sanitizer_has_anything_to_say_of_arming_under_load(job, sanitizer, mode):
    one = job(mode, program=f"arming_job_{sanitizer}", preload=None, MEMSNAP_STACK="native", ASAN_OPTIONS="detect_leaks=0")
    one.tell("stroll", 4)
    for _ in range(2):
        assert ask(one.files()[-1], RECORD) == (DONE, 0)
        assert ask(one.files()[-1], DISARM) == (DONE, 0)
    one.tell("calm")
    assert one.end() == 0  # and nothing on stderr
    assert [read_ring(path)["violations"] for path in one.files()] == [[]] * len(one.files())


# ---- where it cannot


@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_above_the_file_size_limit_arming_is_refused_and_the_job_goes_on(job, mode):
    one = job(mode, MEMSNAP_RING_MB=64)
    path = one.file()
    size = path.stat().st_size
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (16 << 20, resource.RLIM_INFINITY))
    assert ask(path, RECORD) == (REFUSED, 27)
    assert path.stat().st_size == size
    one.tell("pairs", 100)
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert ask(path, RECORD) == (DONE, 0)
    one.tell("allocate", 512)
    assert one.end() == 0
    assert [one_["size"] for one_ in records_of(whole(path), BLOCK_ALLOC)] == [512]


@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_on_a_full_disk_arming_is_refused_the_job_goes_on_and_later_it_is_done(job, tmp_path, mode):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", disk], capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount")
    try:
        one = job(mode, folder=disk, MEMSNAP_RING_MB=4)
        path = one.file()
        with open(disk / "filler", "wb") as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(1 << 16))
        size = path.stat().st_size
        assert ask(path, RECORD) == (REFUSED, 28)
        assert path.stat().st_size == size
        one.tell("pairs", 100000)
        (disk / "filler").unlink()
        assert ask(path, RECORD) == (DONE, 0)
        one.tell("allocate", 512)
        assert one.end() == 0
        assert [one_["size"] for one_ in records_of(whole(path), BLOCK_ALLOC)] == [512]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_without_memory_arming_is_refused_and_the_file_keeps_its_size(job, mode):
    one = job(mode)
    path = one.file()
    size = path.stat().st_size
    resource.prlimit(one.process.pid, resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
    refused = ask(path, RECORD)
    resource.prlimit(one.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert (refused, path.stat().st_size) == ((REFUSED, errno.ENOMEM), size)
    # The addresses kept for a ring may be lost by then.
    assert mode == "standby" or ask(path, RECORD) == (DONE, 0)
    one.tell("allocate", 512)
    assert one.end() == 0
    assert [one_["size"] for one_ in records_of(whole(path), BLOCK_ALLOC)] == ([512] if mode == "cold" else [])


def test_a_file_that_was_moved_away_is_not_looked_for(job):
    one = job("cold")
    path = one.file()
    moved = path.rename(path.with_suffix(".elsewhere"))
    assert ask(moved, RECORD) == (REFUSED, 2)
    path.write_bytes(bytes(HEADER_BYTES))
    assert ask(moved, RECORD) == (REFUSED, 116)  # another file by its name
    assert path.read_bytes() == bytes(HEADER_BYTES)
    assert one.end() == 0


# ---- children and ends


@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_a_child_is_nothing_of_its_parents_file(job, mode):
    one = job(mode)
    assert one.tell("fork") == "0"
    (path,) = one.files()
    assert ask(path, RECORD) == (DONE, 0)
    assert one.tell("fork", 777 * 512) == "0"
    one.tell("allocate", 512)
    assert one.end() == 0
    assert 777 * 512 not in [one_["size"] for one_ in whole(path)["records"]]


def bring(one, state):
    one.tell("allocate", 512)
    path = one.file()
    if state != "waiting":
        ask(path, RECORD)
        one.tell("allocate", 1024)
    if state == "disarmed":
        ask(path, DISARM)
        one.tell("allocate", 2048)


def end(one, ending):
    if ending == "kill":
        one.kill()
        return one.process.returncode == -signal.SIGKILL
    command, status = ending.split()
    return one.end(command, status) == int(status)


@pytest.mark.parametrize("state", ["waiting", "armed", "disarmed"])
@pytest.mark.parametrize("mode", ["cold", "standby"])
def test_whatever_its_state_and_end_the_exit_status_is_its_own_and_the_file_is_whole(job, tmp_path, mode, state):
    for ending in ("exit 0", "exit 5", "_exit 6", "kill"):
        folder = tmp_path / ending
        folder.mkdir()
        one = job(mode, folder=folder)
        bring(one, state)
        assert end(one, ending), ending
        if mode == "cold" and state == "waiting":
            assert [file.stat().st_size for file in one.files()] == ([] if ending.startswith("exit") else [HEADER_BYTES]), ending
            continue
        ring = whole(one.file())
        assert [one_["size"] for one_ in records_of(ring, BLOCK_ALLOC)] == ([] if state == "waiting" else [1024]), ending
        marked = ending.startswith("exit")
        assert ring["header"]["exit_mark"] == (word(one.file(), "head") + 1 if marked else 0), ending
        assert word(one.file(), "exit_status") == (int(ending.split()[1]) if marked else 0), ending


def test_of_a_job_that_went_cold_and_ended_well_the_readers_say_so(job):
    one = job("recording")
    one.tell("allocate", 512)
    assert ask(one.file(), DISARM) == (DONE, 0)
    one.tell("allocate", 1024)
    assert one.end() == 0
    header = subprocess.run([REPLAY, "dump", "--header", one.file()], capture_output=True, text=True)
    assert (header.returncode, header.stderr) == (0, "")
    assert re.search(r"exit_ticket (\d+)\nexit_status 0\n", header.stdout).group(1) == str(word(one.file(), "head"))
    told = subprocess.run([ORACLE, one.file()], capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")
    capture = json.loads(told.stdout)["capture"]
    assert (capture["exit_seen"], capture["exit_status"]) == (True, 0)
