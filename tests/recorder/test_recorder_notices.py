# SPDX-License-Identifier: Apache-2.0
"""The one line on stderr, and trouble that must never become the job's."""

import os
import resource
import subprocess

import pytest

from recorded import BUILD, LIBRARY, clean_environment, read_ring


def test_a_failure_is_told_in_one_line_that_says_how_to_read_it(record):
    run = record("oom")
    (file,) = run.folder.glob("*.bin")
    assert run.done.stderr == f"memsnap: out of memory recorded in {file}; read it with: memsnap-replay {file}\n"


def test_a_clean_run_and_a_silenced_one_print_nothing(record):
    assert record("simple").done.stderr == ""
    assert record("oom", MEMSNAP_QUIET=1).done.stderr == ""


def test_many_failures_are_one_line(record):
    assert record("storm", 20).done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_said_once_and_the_job_goes_on(record):
    run = record("oom", MEMSNAP_OUT="/nonexistent/ring.bin")
    assert run.done.returncode == 0
    assert run.done.stdout.startswith("done")
    assert run.done.stderr == "memsnap: this process is not recorded: cannot create /nonexistent/ring.bin: no such folder\n"


def test_a_kernel_without_wipe_on_fork_is_said_once_and_the_job_goes_on(record):
    run = record("simple", preload=f"{LIBRARY} {BUILD}/libno_wipe_on_fork.so")
    assert run.done.stdout.startswith("done")
    assert run.done.stderr.count("\n") == 1 and "not recorded" in run.done.stderr and "Linux 4.14" in run.done.stderr
    assert run.rings() == []


def run_limited(tmp_path, limit, preload=LIBRARY):
    return subprocess.run(
        [BUILD / "program", "simple"],
        cwd=tmp_path,
        env=clean_environment(LD_PRELOAD=preload),
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
    )


def test_a_file_size_limit_raises_no_signal(tmp_path):
    done = run_limited(tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert done.returncode == 0
    assert "file size limit" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("preload", [LIBRARY, f"{LIBRARY} {BUILD}/libno_unnamed_files.so"], ids=["unnamed files", "no unnamed files"])
def test_a_full_disk_leaves_no_file_and_no_crash(tmp_path, preload):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], capture_output=True).returncode != 0:
        pytest.skip("mounting needs root")
    try:
        done = run_limited(disk, None, preload)
        assert done.returncode == 0
        assert "no space left" in done.stderr
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_full_pipe_on_stderr_does_not_block_the_job(tmp_path):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    done = subprocess.run(
        [BUILD / "program", "oom"],
        cwd=tmp_path,
        env=clean_environment(LD_PRELOAD=LIBRARY, MEMSNAP_RING_MB=1),
        stdout=subprocess.PIPE,
        stderr=writer,
        timeout=20,
    )
    assert done.returncode == 0
    os.close(reader)
    os.close(writer)


def test_a_stderr_that_became_another_file_is_left_alone(record, tmp_path):
    script = f'exec 2>"{tmp_path}/mine.txt"; exec "{BUILD}/program" oom_reopened'
    run = record(command=["sh", "-c", script])
    assert run.done.returncode == 0
    assert (tmp_path / "database").read_text() == ""
    assert (tmp_path / "mine.txt").read_text() == ""


def test_the_jobs_own_output_is_unchanged(record, tmp_path):
    plain = subprocess.run([BUILD / "program", "oom"], cwd=tmp_path, capture_output=True, text=True)
    recorded = record("oom", MEMSNAP_QUIET=1).done
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (plain.returncode, plain.stdout, plain.stderr)
