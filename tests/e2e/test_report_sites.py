# SPDX-License-Identifier: Apache-2.0
"""A failure in the backward pass, on a thread without Python frames: the report still says where, by node, phase and the sites of the forward pass."""

import os
import re
import subprocess

import pytest

from conftest import PROGRAMS, REPLAY, TOP

PHASED = PROGRAMS / "phased.py"


def line_of(mark: str) -> int:
    return next(number for number, line in enumerate(PHASED.read_text().splitlines(), 1) if f"# {mark}" in line)


@pytest.fixture(scope="module")
def ring(module_bench):
    job = module_bench.run(PHASED.name, MEMSNAP_OUT="ring.bin", PYTHONPATH=str(TOP / "python"))
    assert job.code == 1 and "OutOfMemoryError" in job.stderr, job.stderr
    return module_bench.folder / "ring.bin"


def test_a_failure_in_the_backward_pass_has_its_node_its_phase_and_the_sites_of_the_forward_pass(module_bench, ring):
    screen = module_bench.replay(ring).stdout

    place = re.search(r"^AT +(.*)$\n +a thread without Python frames; the largest sites of the forward pass:\n +(.*?) +3\.00 GiB$", screen, re.M)
    assert place, screen
    assert place[1] == "SigmoidBackward0 (autograd), in backward"
    assert place[2].startswith(f"forward (phased.py:{line_of('the activation')}) < main (phased.py:")


def test_live_sites_have_the_phase_that_they_were_born_in(module_bench, ring):
    screen = module_bench.replay(ring).stdout

    rows = {line.split()[1].strip("()"): line for line in screen.partition("live at the failure")[2].partition("\n\n")[0].splitlines() if "(phased.py:" in line}
    assert rows[f"phased.py:{line_of('the activation')}"].endswith("  forward"), screen
    assert rows[f"phased.py:{line_of('the batch')}"].split()[-1] == "1", screen


def test_the_screen_is_one_screen_and_a_hundred_columns(module_bench, ring):
    for options in ((), ("--no-names",)):
        lines = module_bench.replay(ring, *options).stdout.splitlines()
        assert len(lines) <= 45 and max(map(len, lines)) <= 100


def test_words_of_phases_are_in_the_receipt_and_names_of_the_job_are_not(module_bench, ring):
    receipt = module_bench.replay(ring, receipt=True).receipt

    assert {entry["word"] for entry in receipt["dictionary"]["phases"]} <= {"forward", "backward", None}
    assert "forward" in {entry["word"] for entry in receipt["dictionary"]["phases"]}
    assert "batch" not in str(receipt["dictionary"])


@pytest.mark.parametrize("options, code, said", [
    (("--with-names", "--no-names"), 2, "excludes"),
    (("--token-key", "no-such-file"), 5, "cannot be opened"),
    (("--token-key", "empty"), 2, "is empty"),
    (("--token-key", "."), 5, "not a regular file"),
    (("--sites", "0"), 2, "--sites"),
    (("--collapsed", "-", "--json", "-"), 2, "only one result"),
    (("--collapsed", "x", "--json", "./x"), 2, "one name"),
])
def test_options_about_names_that_make_no_sense_are_refused(module_bench, ring, options, code, said):
    (module_bench.folder / "empty").write_bytes(b"")

    replay = module_bench.replay(ring, *options)

    assert (replay.code, replay.stdout) == (code, "") and said in replay.stderr, replay.stderr


def test_the_key_may_be_named_by_the_environment(module_bench, ring):
    (module_bench.folder / "key").write_bytes(b"secret")
    paths = [module_bench.folder / name for name in ("option.json", "variable.json")]

    module_bench.replay(ring, "--json", paths[0], "--token-key", "key")
    subprocess.run([REPLAY, ring, "--json", paths[1]], cwd=module_bench.folder, env=os.environ | {"MEMSNAP_TOKEN_KEY_FILE": "key"}, capture_output=True)

    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert b'"scope":"key"' in paths[0].read_bytes()


def test_more_sites_are_listed_when_asked_for(module_bench, ring):
    screen = module_bench.replay(ring, "--sites", "1").stdout

    assert "other site" in screen.partition("live at the failure")[2]
    assert "other site" not in module_bench.replay(ring, "--sites", "100").stdout
