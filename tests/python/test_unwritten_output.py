# SPDX-License-Identifier: Apache-2.0
"""What becomes of `memsnap` when what it prints cannot be written. No torch here."""

import os
import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
ABOUT = (("--help",), ("--version",), ("status", "--help"), ("fleet", "ingest", "--help"))


def memsnap(arguments, redirected: str = "", stdout=subprocess.PIPE, **variables) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | {"PYTHONPATH": str(PACKAGE)} | variables
    command = ["bash", "-c", f'exec "$@" {redirected}', "-", sys.executable, "-m", "memsnap", *map(str, arguments)]
    return subprocess.run(command, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"])
@pytest.mark.parametrize("arguments", ABOUT)
def test_output_that_cannot_be_written_is_said_and_has_an_exit_code(arguments, redirected, unbuffered):
    done = memsnap(arguments, redirected, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 5 and done.stderr.startswith("memsnap: cannot write to standard output: ") and done.stderr.count("\n") == 1, done


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ABOUT)
def test_output_that_nobody_reads_ends_it_without_a_word(arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:
        done = memsnap(arguments, stdout=nobody, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_command_that_prints_nothing_does_not_miss_its_output(tmp_path):
    done = memsnap(("run", "--library", sys.executable, "--no-hooks", "--", "sh", "-c", "exit 7"), ">&- 2>/dev/null")
    assert done.returncode == 7
