# SPDX-License-Identifier: Apache-2.0
"""The job is not changed by being recorded: standard output, standard error and exit code are the same byte for byte."""

import re
import subprocess
import sys

import pytest

from conftest import RECORDER

LINE = re.compile(r"memsnap: out of memory recorded in (\S+/ring-\d+\.bin); read it with: memsnap-replay \1\n")
WAYS = ["success", "exception", "exit_3", "underscore_exit", "abort", "oom_caught", "oom_uncaught", "children", "stdin", "forked_workers", "execs"]


def seen(job) -> tuple:
    """What the outside sees of a job. The neighbours in PyTorch's out-of-memory text are named by process id."""
    return job.code, job.stdout, job.stderr


@pytest.mark.parametrize("way", WAYS)
def test_output_and_exit_code_are_the_same_with_and_without_recording(bench, way):
    stdin = "one\ntwo\n\nfour without an end of line"
    unrecorded = bench.run("outcomes.py", way, record=False, stdin=stdin)
    assert bench.rings() == []

    quiet = bench.run("outcomes.py", way, stdin=stdin, MEMSNAP_QUIET="1")

    assert seen(quiet) == seen(unrecorded)
    assert quiet.rings and all(bench.replay("check", ring).code == 0 for ring in quiet.rings)


@pytest.mark.parametrize("way", ["oom_caught", "oom_uncaught"])
def test_the_only_difference_without_quiet_is_one_line_after_an_out_of_memory_failure(bench, way):
    unrecorded = bench.run("outcomes.py", way, record=False)

    recorded = bench.run("outcomes.py", way)

    lines = LINE.findall(recorded.stderr)
    assert lines == [str(recorded.ring)]
    assert (recorded.code, recorded.stdout, LINE.sub("", recorded.stderr)) == seen(unrecorded)


@pytest.mark.parametrize("way", ["success", "exception", "exit_3"])
def test_a_job_without_trouble_gets_no_line(bench, way):
    assert "memsnap" not in bench.run("outcomes.py", way).stderr


def test_a_child_that_uses_the_gpu_gets_a_file_of_its_own_and_one_that_does_not_gets_none(bench):
    job = bench.run("outcomes.py", "children")
    assert job.code == 0 and len(job.rings) == 2, job.stderr
    headers = [dict(line.split(maxsplit=1) for line in bench.replay("dump", "--header", ring).stdout.splitlines()) for ring in job.rings]
    assert len({header["pid"] for header in headers}) == 2
    assert {headers[0]["parent_pid"], headers[1]["parent_pid"]} & {headers[0]["pid"], headers[1]["pid"]}


def test_the_program_after_an_exec_gets_a_second_file_and_both_open(bench):
    job = bench.run("outcomes.py", "execs")
    first, second = sorted(job.rings, key=lambda ring: len(ring.name))
    assert second.name == first.name.replace(".bin", "-2.bin")
    assert bench.replay("check", first).code == bench.replay("check", second).code == 0


@pytest.mark.parametrize("command", [
    ["/bin/true"], ["bash", "-c", "echo hello; ls > /dev/null"], ["git", "--version"], [sys.executable, "-c", "pass"],
    [sys.executable, "-c", "import torch; torch.zeros(1000).sum()"],
], ids=["true", "bash", "git", "python", "torch-on-the-cpu"])
def test_a_program_without_a_gpu_gets_no_file_and_no_output(bench, command):
    runs = [
        subprocess.run(command, cwd=bench.folder, env=bench.environment(record), capture_output=True, text=True, timeout=60)
        for record in (False, True)
    ]
    assert bench.environment(record=True)["LD_PRELOAD"] == str(RECORDER)
    assert (runs[0].returncode, runs[0].stdout, runs[0].stderr) == (runs[1].returncode, runs[1].stdout, runs[1].stderr)
    assert list(bench.folder.iterdir()) == []
