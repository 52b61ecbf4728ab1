# SPDX-License-Identifier: Apache-2.0
"""How much of a folder recordings may take: which finished ones go, which never do, and what happens when the budget is used up."""

import os
import subprocess
import time

import pytest

from recorded import BUILD, LIBRARY, clean_environment, read_ring

RING_FILE_MB = 32  # more than a recording of these settings takes, with its names
HOST_KEY_OFFSET = 376


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "recordings"


@pytest.fixture
def job(folder):
    """job(name, scenario): a recorded program to its end, its file of that name."""
    folder.mkdir()

    def run(name: str, scenario: str = "simple", **environment):
        settings = {"MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_OUT": f"{folder}/{name}.bin", **environment}
        return subprocess.run([BUILD / "program", scenario], env=clean_environment(LD_PRELOAD=LIBRARY, **settings), capture_output=True, text=True, timeout=60)

    return run


def age(folder, *names: str) -> None:
    """The first is the oldest."""
    for at, name in enumerate(names):
        os.utime(folder / f"{name}.bin", (1_000_000 + at, 1_000_000 + at))


def left(folder) -> list:
    return sorted(path.stem for path in folder.glob("*.bin"))


def test_of_finished_recordings_only_the_newest_stay_and_their_names_go_with_the_others(folder, job):
    for name in ("a", "b", "c"):
        job(name)
    age(folder, "b", "a", "c")

    job("d", MEMSNAP_KEEP_FILES=3)

    assert left(folder) == ["a", "c", "d"]
    assert sorted(path.name for path in folder.glob("*.names")) == ["a.bin.names", "c.bin.names", "d.bin.names"]


def test_without_the_setting_nothing_is_removed(folder, job):
    for name in ("a", "b", "c"):
        job(name)

    assert left(folder) == ["a", "b", "c"]


def test_a_recording_with_a_failure_is_never_removed(folder, job):
    job("failed", "oom")
    assert read_ring(folder / "failed.bin")["header"]["failure_count"] > 0
    job("clean")
    age(folder, "failed", "clean")

    job("new", MEMSNAP_KEEP_FILES=1)

    assert left(folder) == ["failed", "new"]


def test_a_job_that_still_runs_keeps_its_recording(folder, job):
    settings = {"MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_OUT": f"{folder}/running.bin", "FAKE_CUDA": BUILD / "libfake_cuda.so"}
    running = subprocess.Popen([BUILD / "driver_until_eof"], stdin=subprocess.PIPE, env=clean_environment(LD_PRELOAD=LIBRARY, **settings))
    while not (folder / "running.bin").exists():
        assert running.poll() is None
        time.sleep(0.01)
    try:
        age(folder, "running")
        job("new", MEMSNAP_KEEP_FILES=1)
        assert left(folder) == ["new", "running"]
    finally:
        running.communicate()


def test_a_killed_recording_goes_and_one_that_another_host_may_still_write_to_stays(folder, job):
    settings = {"MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_OUT": f"{folder}/here.bin", "FAKE_CUDA": BUILD / "libfake_cuda.so"}
    killed = subprocess.Popen([BUILD / "driver_until_eof"], stdin=subprocess.PIPE, env=clean_environment(LD_PRELOAD=LIBRARY, **settings))
    while not (folder / "here.bin").exists():
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    whole = (folder / "here.bin").read_bytes()
    for name, key in (("elsewhere", bytes(7) + b"\x01"), ("untold", bytes(8))):
        (folder / f"{name}.bin").write_bytes(whole[:HOST_KEY_OFFSET] + key + whole[HOST_KEY_OFFSET + 8:])

    job("new", MEMSNAP_KEEP_FILES=1)

    assert left(folder) == ["elsewhere", "new", "untold"]


def test_of_very_many_the_oldest_go_first_some_at_each_new_recording(folder, job):
    job("a00")
    names = [f"a{number:02}" for number in range(70)]
    for name in names[1:]:
        (folder / f"{name}.bin").write_bytes((folder / "a00.bin").read_bytes()[:65536])
    age(folder, *reversed(names))

    job("b", MEMSNAP_KEEP_FILES=1)
    assert left(folder) == [*names[:6], "b"]

    job("c", MEMSNAP_KEEP_FILES=3)
    assert left(folder) == ["a00", "b", "c"]


def test_what_is_no_recording_of_this_user_is_left_alone_whatever_its_name(folder, job, tmp_path):
    (folder / "notes.bin").write_bytes(b"not a recording" * 100)
    (folder / "empty.bin").write_bytes(b"")
    job("target")
    (folder / "target.bin").rename(tmp_path / "target.bin")
    (folder / "link.bin").symlink_to(tmp_path / "target.bin")
    os.link(tmp_path / "target.bin", folder / "hard.bin")
    os.mkfifo(folder / "pipe.bin")

    job("new", MEMSNAP_KEEP_FILES=1)

    assert left(folder) == ["empty", "hard", "link", "new", "notes", "pipe"]
    assert (tmp_path / "target.bin").exists()


def test_beyond_the_budget_the_job_goes_on_unrecorded_and_says_why_once(folder, job):
    job("a")
    before = left(folder)

    done = job("b", MEMSNAP_DISK_MB=1)

    assert done.returncode == 0 and left(folder) == before
    assert done.stderr.count("MEMSNAP_DISK_MB") == 1


def test_the_budget_counts_the_file_of_names_too(folder, job):
    assert "MEMSNAP_DISK_MB" in job("a", MEMSNAP_DISK_MB=16).stderr
    assert job("b", MEMSNAP_DISK_MB=16, MEMSNAP_NAMES=0).stderr == ""
    assert left(folder) == ["b"]


def test_within_the_budget_it_is_recorded_and_old_recordings_may_make_room(folder, job):
    job("a")
    assert job("b", MEMSNAP_DISK_MB=2 * RING_FILE_MB).stderr == ""
    age(folder, "a", "b")

    job("c", MEMSNAP_DISK_MB=RING_FILE_MB, MEMSNAP_KEEP_FILES=1)

    assert left(folder) == ["c"]
