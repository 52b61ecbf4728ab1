# SPDX-License-Identifier: Apache-2.0
"""`memsnap attach` and `detach` on real PyTorch jobs that were started without the recorder, on the simulated GPU, through gdb."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from conftest import RECORDER
from running_jobs import start  # noqa: F401  (a fixture)

from memsnap.attach import _refusals

pytestmark = [
    pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed"),
    pytest.mark.skipif(_refusals.tracing(_refusals.this_machine()) is not None, reason="this machine lets this user trace nobody (kernel.yama.ptrace_scope)"),
]
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


@pytest.mark.parametrize("mode", ["main", "joined"])
def test_a_job_is_the_same_with_the_recorder_attached_detached_and_attached_again(start, mode):
    alone = start(mode).end()
    job = start(mode)

    first = job.attach()
    detached = job.memsnap("detach", job.pid)
    assert detached.returncode == 0 and detached.stdout == f"detached  pid {job.pid}  {first}\n", detached.stderr
    assert job.memsnap("status", first).stdout.split()[9] == "detached"
    size_then = first.stat().st_size, int.from_bytes(first.read_bytes()[512:520], "little")
    second = job.attach()

    assert job.end() == alone == (7, alone[1], "")
    assert second != first and (first.stat().st_size, int.from_bytes(first.read_bytes()[512:520], "little")) == size_then
    assert not list(pathlib.Path("/tmp").glob("memsnap-attach-*")), "the handover is removed"


@pytest.mark.parametrize("environment", [{}, EXPANDABLE], ids=["native", "expandable"])
def test_what_is_known_after_an_attach_is_what_pytorch_holds_block_for_block(start, bench, environment):
    job = start(**environment)
    ring = job.attach()
    job.end()

    truth = json.loads((bench.folder / "held.json").read_text())
    done = bench.replay("dump", "--state", ring)
    assert done.code == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert sorted([int(row[1]), int(row[2], 16), int(row[3])] for row in rows if row[0] == "block") == truth["blocks"]
    assert len(truth["blocks"]) > 20


def test_a_job_that_runs_out_of_memory_after_an_attach_is_diagnosed_and_what_was_there_before_is_not_guessed(start, bench):
    job = start("leaking")
    ring = job.attach()
    code, stdout, _ = job.end()
    assert code == 7 and "out of memory" in stdout

    replay = bench.replay(ring, receipt=True)
    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "retention", replay.stdout + replay.stderr
    assert replay.receipt["evidence"]["growth"]["unknown_birth_bytes"] >= 20 * 3 * 2**20


def test_the_recording_lies_where_the_command_was_given_whatever_became_of_the_jobs_folder(start, bench):
    job = start("homeless")

    ring = job.attach("--ring-mb", "1", "--stack", "off", "--no-names")

    assert ring.parent == bench.folder and ring.stat().st_size < 64 * 2**20 and not ring.with_name(ring.name + ".names").exists()
    assert job.end()[0] == 7


def refused(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("memsnap attach: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_an_attached_job_is_not_attached_twice_and_a_place_that_takes_no_file_is_named(start, bench):
    job = start()

    assert "No such file or directory" in refused(job.memsnap("attach", job.pid, "--out", "/nowhere/ring.bin"))
    ring = job.attach()
    assert f"it is recorded already: {ring}" in refused(job.memsnap("attach", job.pid))
    assert job.end()[0] == 7


def test_without_gdb_the_way_to_get_it_is_named(start, tmp_path):
    job = start()

    assert "apt install gdb" in refused(job.memsnap("attach", job.pid, path=str(tmp_path)))


def test_a_traced_or_stopped_job_is_left_alone(start):
    job = start()
    tracer = subprocess.Popen(["strace", "-f", "-e", "trace=none", "-o", "/dev/null", "-p", str(job.pid)], stderr=subprocess.PIPE, text=True)
    tracer.stderr.readline()
    assert f"process {tracer.pid} is tracing it already" in refused(job.memsnap("attach", job.pid))
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    os.kill(job.pid, signal.SIGSTOP)
    assert "it is stopped" in refused(job.memsnap("attach", job.pid))
    os.kill(job.pid, signal.SIGCONT)

    assert job.end()[0] == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own needs root")
def test_a_job_in_a_container_that_does_not_see_the_library_is_offered_a_copy(start, bench):
    hidden = bench.folder / "hidden"
    hidden.mkdir()
    library = shutil.copy(RECORDER, hidden)
    job = start(under=("unshare", "-m", "sh", "-c", f'mount -t tmpfs none {hidden} && exec "$@"', "sh"))

    root = f"/proc/{job.pid}/root"
    assert f"install -m 0755 -o 0 {library} {root}/tmp/" in refused(job.memsnap("attach", job.pid, "--library", library))
    shutil.copy(RECORDER, f"{root}{hidden}")
    ring = job.attach("--library", library)
    assert str(ring.parent) == f"{root}{bench.folder}" and ring.exists()
    assert job.end()[0] == 7
