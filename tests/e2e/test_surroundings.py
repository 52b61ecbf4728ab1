# SPDX-License-Identifier: Apache-2.0
"""Bad surroundings: whatever is wrong with the place for the file or with the settings, the job runs as if nothing were recorded."""

import fcntl
import os
import resource
import subprocess

import pytest

MIB = 1024 * 1024


def run(bench, folder=None, before_exec=None, way: str = "success", **options) -> subprocess.CompletedProcess:
    environment = bench.environment(**options)
    return subprocess.run(
        bench.command("outcomes.py", way), cwd=folder or bench.folder, env=environment, preexec_fn=before_exec,
        capture_output=True, text=True, timeout=60,
    )


def assert_went_well_unrecorded(bench, job: subprocess.CompletedProcess, reason: str) -> None:
    assert (job.returncode, job.stdout) == (0, "working\ndone\n"), job.stderr
    lines = [line for line in job.stderr.splitlines() if line != "a warning"]
    assert len(lines) == 1 and lines[0].startswith("memsnap: ") and reason in lines[0], job.stderr
    assert not list(bench.folder.rglob("*.bin*"))


def test_a_file_size_limit_smaller_than_the_ring_leaves_the_job_alone(bench):
    limit = (10 * MIB, resource.RLIM_INFINITY)

    job = run(bench, before_exec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))

    assert_went_well_unrecorded(bench, job, "larger than the file size limit")


@pytest.fixture
def small_disk(bench):
    folder = bench.folder / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system is not allowed here: " + mounted.stderr.strip())
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_the_job_alone(bench, small_disk):
    job = run(bench, folder=small_disk)

    assert_went_well_unrecorded(bench, job, "no space left on the device")


def test_a_read_only_working_folder_leaves_the_job_alone(bench):
    job = run(bench, folder="/proc")

    assert_went_well_unrecorded(bench, job, "cannot create")


def test_a_missing_output_folder_leaves_the_job_alone(bench):
    job = run(bench, MEMSNAP_OUT="missing/ring.bin")

    assert_went_well_unrecorded(bench, job, "no such folder")


def test_quiet_silences_trouble_too(bench):
    job = run(bench, MEMSNAP_OUT="missing/ring.bin", MEMSNAP_QUIET="1")

    assert (job.returncode, job.stdout, job.stderr) == (0, "working\ndone\n", "a warning\n")


def test_an_existing_file_is_never_overwritten(bench):
    for name in ("ring.bin", "ring-2.bin"):
        (bench.folder / name).write_text("mine")

    job = run(bench, MEMSNAP_OUT="ring.bin")

    assert (job.returncode, job.stderr) == (0, "a warning\n")
    assert [(bench.folder / name).read_text() for name in ("ring.bin", "ring-2.bin")] == ["mine", "mine"]
    assert bench.replay("check", bench.folder / "ring-3.bin").code == 0


def test_a_symbolic_link_in_the_place_of_the_file_is_not_followed(bench):
    (bench.folder / "ring.bin").symlink_to("target.bin")

    job = run(bench, MEMSNAP_OUT="ring.bin")

    assert (job.returncode, job.stderr) == (0, "a warning\n")
    assert not (bench.folder / "target.bin").exists()
    assert bench.replay("check", bench.folder / "ring-2.bin").code == 0


def test_the_output_template_is_filled_in(bench):
    job = run(bench, MEMSNAP_OUT="job-%j-rank-%r-%h-100%%.bin", RANK="3", SLURM_JOB_ID="77")

    assert job.returncode == 0, job.stderr
    name = os.uname().nodename
    assert [ring.name for ring in bench.folder.glob("*.bin")] == [f"job-77-rank-3-{name}-100%.bin"]


def test_disabled_means_no_file(bench):
    job = run(bench, MEMSNAP_DISABLE="1", way="oom_caught")

    assert job.returncode == 0 and "memsnap" not in job.stderr
    assert list(bench.folder.iterdir()) == []


@pytest.mark.parametrize("value", ["", "0", "-5", "many", "99999999999999999999", "1e3", "64MB"])
def test_a_ring_size_that_makes_no_sense_is_survived(bench, value):
    job = run(bench, MEMSNAP_RING_MB=value)

    assert (job.returncode, job.stdout) == (0, "working\ndone\n"), job.stderr
    for ring in bench.rings():
        assert bench.replay("check", ring).code == 0


def test_a_closed_standard_error_stays_untouched(bench):
    """The line must not go into whatever file has become descriptor 2 since."""
    job = run(bench, before_exec=lambda: os.close(2), way="oom_caught_silently")

    assert (job.returncode, job.stdout) == (0, "caught\n")
    assert bench.replay("check", bench.rings()[0]).code == 0
    assert [path for path in bench.folder.iterdir() if path.suffix not in (".bin", ".names")] == []


def test_a_standard_error_that_nobody_reads_does_not_stop_the_job(bench):
    """The pipe is full before the job starts, so any write to it would block for ever."""
    reading, writing = os.pipe()
    os.write(writing, bytes(fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)))

    job = subprocess.run(
        bench.command("outcomes.py", "oom_caught_silently"),
        cwd=bench.folder, env=bench.environment(), stdout=subprocess.PIPE, stderr=writing, text=True, timeout=60,
    )

    os.close(reading)
    os.close(writing)
    assert (job.returncode, job.stdout) == (0, "caught\n")
    assert bench.replay("check", bench.rings()[0]).code == 0
