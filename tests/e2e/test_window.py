# SPDX-License-Identifier: Apache-2.0
"""Cutting an incident out of its recording: what is cut is encoded and judged again, and must come out the same. Fixtures, and a real job."""

import json
import pathlib
import re
import subprocess

import pytest

from conftest import BUILD, REPLAY, TOP

ENCODE = BUILD / "fixtures/encode/memsnap-encode"
CASES = sorted(path.parent for path in (TOP / "fixtures").glob("*/events.txt"))
NEEDED = re.compile(r"--window-(\w+) (\d+)")
# A word of the text: verbs, names and keys of the grammar; never a path, a name of the job or a hexadecimal address.
LINE = re.compile(r"(#[\w ,.:\-]*|[\w.\-+@= ]+)( # [\w ]+)?")


def encode(text: str, ring: pathlib.Path) -> pathlib.Path:
    done = subprocess.run([ENCODE, "--force", "-", ring], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return ring


def replay(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([str(REPLAY), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def receipt(*arguments) -> dict:
    done = replay(*arguments, "--json", "-")
    assert done.returncode in (0, 10, 11), done.stderr
    return json.loads(done.stdout)


def options_of(case: pathlib.Path) -> list[str]:
    lines = (line.split("#")[0].split() for line in (case / "expect.txt").read_text().splitlines())
    return next((words[1:] for words in lines if words and words[0] == "options"), [])


def cut(ring: pathlib.Path, out: pathlib.Path, options: list[str], fewest: bool) -> subprocess.CompletedProcess:
    """With `fewest`, as few events as the program says that it needs."""
    done = replay(ring, *options, "--window", out, *(["--window-events", 1] if fewest else []))
    bounds = {name: number for name, number in NEEDED.findall(done.stderr)}
    if fewest and done.returncode == 6 and bounds:
        done = replay(ring, *options, "--window", out, *(word for name, number in bounds.items() for word in (f"--window-{name}", number)))
    return done


@pytest.mark.parametrize("fewest", [False, True], ids=["whole", "fewest"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_incident_that_is_cut_is_judged_as_before(case, fewest, tmp_path):
    ring = tmp_path / "ring.bin"
    made = subprocess.run([ENCODE, case / "events.txt", ring], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    out = tmp_path / "incident.events"
    options = options_of(case)

    done = cut(ring, out, options, fewest)

    if done.returncode in (3, 4, 7):
        assert not out.exists()
        return
    before = receipt(ring, *options)
    if before["evidence"]["failure"] is None:
        assert "nothing to cut" in done.stderr and not out.exists()
        assert done.returncode == before["verdict"]["exit_status"]
        return
    assert done.returncode == before["verdict"]["exit_status"], done.stderr
    text = out.read_text()
    assert [line for line in text.splitlines() if not LINE.fullmatch(line)] == []
    assert receipt(encode(text, tmp_path / "small.bin"))["verdict"] == before["verdict"]


def test_the_six_part_incident_fits_the_default_bounds(tmp_path):
    ring = encode((TOP / "fixtures/six_part/events.txt").read_text(), tmp_path / "ring.bin")
    done = replay(ring, "--window", "-")

    assert done.returncode == 10
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("#", "header", "boundary", "copy", "pin"))]
    assert 6 < len(lines) <= 96 and not any(line.startswith("OUT OF MEMORY") for line in lines)


@pytest.fixture(scope="module")
def fragmented(module_bench):
    job = module_bench.run("fragmentation.py")
    assert job.code == 1, job.stderr
    return job.ring


def test_a_real_job_is_cut_within_larger_bounds_and_only_there(fragmented, tmp_path):
    out = tmp_path / "incident.events"

    refused = replay(fragmented, "--window", out)

    assert refused.returncode == 6 and not out.exists()
    needed = re.search(r"(\d+) segments are needed, (\d+) more than the 16 allowed", refused.stderr)
    assert needed and int(needed[1]) == int(needed[2]) + 16
    done = replay(fragmented, "--window", out, "--window-segments", needed[1])
    assert done.returncode == 10, done.stderr
    text = out.read_text()
    assert [line for line in text.splitlines() if not LINE.fullmatch(line)] == []
    before = receipt(fragmented)
    after = receipt(encode(text, tmp_path / "small.bin"))
    assert after["verdict"] == before["verdict"]
    assert after["evidence"]["ledgers"] == before["evidence"]["ledgers"]
    kept = [{key: share[key] for key in ("bytes", "retained_bytes")} for share in before["evidence"]["sites"]]
    assert [{key: share[key] for key in ("bytes", "retained_bytes")} for share in after["evidence"]["sites"]] == kept


def test_an_existing_file_is_kept(fragmented, tmp_path):
    out = tmp_path / "incident.events"
    out.write_text("mine")

    assert replay(fragmented, "--window", out, "--window-segments", 1000).returncode == 5
    assert out.read_text() == "mine"
    assert replay(fragmented, "--window", out, "--window-segments", 1000, "--force").returncode == 10


def test_the_example_of_the_page_is_in_the_grammar(tmp_path):
    example = re.search(r"```events\n(.*?)```", (TOP / "docs/window.md").read_text(), re.S)[1]
    assert receipt(encode(example, tmp_path / "ring.bin"))["verdict"]["exit_status"] in (10, 11)
