# SPDX-License-Identifier: Apache-2.0
"""`memsnap run` on PyTorch programs that know nothing of memsnap: what the verdict gains, and what the job does not lose."""

import re
import sys

import pytest

from conftest import PROGRAMS

FRAME_OF_OURS = re.compile(r'  File "[^"]*/memsnap/_(?:module_calls|torch_hooks)\.py", line \d+, in \w+\n.*\n(?: *[~^]+\n)?')
TRAINING = (PROGRAMS / "retention.py").read_text()


def words(replay) -> set:
    return {phase["word"] for phase in replay.receipt["dictionary"]["phases"]}


def test_an_unmodified_training_loop_has_its_steps_and_phases(bench):
    job = bench.run_hooked("retention.py")
    replay = bench.replay(job.ring, receipt=True)

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "retention", replay.stdout
    growth = replay.receipt["evidence"]["growth"]
    assert (growth["basis"], growth["family"]) == ("marked", "optimizer")
    assert {"optimizer"} <= words(replay)
    kept = next(number for number, line in enumerate(TRAINING.splitlines(), 1) if "output = model(batch)" in line)
    assert f"retention.py:{kept}" in replay.stdout


@pytest.mark.parametrize("way", ["exception", "exit_3", "oom_uncaught", "stdin", "forked_workers"])
def test_output_and_exit_code_are_the_jobs_own(bench, way):
    stdin = "one\ntwo\n\nfour without an end of line"
    plain = bench.run("outcomes.py", way, record=False, stdin=stdin)

    hooked = bench.run_hooked("outcomes.py", way, options=("--quiet",), stdin=stdin)

    assert (hooked.code, hooked.stdout) == (plain.code, plain.stdout)
    assert FRAME_OF_OURS.sub("", hooked.stderr) == plain.stderr


def test_without_hooks_the_recording_has_no_phases(bench):
    job = bench.run_hooked("retention.py", options=("--no-hooks", "--out", "plain.bin"))

    dump = bench.replay("dump", bench.folder / "plain.bin").stdout
    assert job.rings == [] and " optimizer" not in dump and " step " not in dump


@pytest.mark.parametrize("start", [("-m", "training"), ("-c", TRAINING), ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_training.py")])
def test_modules_commands_and_pytest_are_hooked_too(bench, start):
    (bench.folder / "training.py").write_text(TRAINING)
    (bench.folder / "test_training.py").write_text("import training\n\ndef test_it():\n    training.main()\n")

    job = bench.run_hooked(sys.executable, *start)

    assert bench.replay(job.ring, receipt=True).receipt["evidence"]["growth"]["family"] == "optimizer"


def test_a_memory_fraction_is_told_as_a_cap(bench):
    told = bench.replay(bench.run_hooked("modes/fraction.py").ring, receipt=True)

    assert told.receipt["evidence"]["ledgers"]["cap_bytes"] == 4 * 2**30


def test_a_memory_fraction_that_does_not_bind_is_not_told(bench):
    job = bench.run_hooked("modes/fraction.py", PYTORCH_NO_CUDA_MEMORY_CACHING="1")

    assert " cap " not in bench.replay("dump", job.ring).stdout


def test_workers_of_a_data_loader_leave_no_file_and_its_batches_are_a_phase(bench):
    job = bench.run_hooked("modes/data_loader.py")

    assert len(job.rings) == 1, job.stderr
    assert bench.replay("dump", job.ring).stdout.count("phase_begin") >= 5


def test_the_environment_of_the_job_is_searched_by_its_own_children_only(bench):
    """What `memsnap run` put into PYTHONPATH is inherited, so that launchers pass it on; no search path shows it."""
    job = bench.run_hooked(sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import sys; print(sys.path)'])")

    assert "memsnap/site" not in job.stdout and job.code == 0
