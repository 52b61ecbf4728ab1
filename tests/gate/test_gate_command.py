# SPDX-License-Identifier: Apache-2.0
"""`memsnap gate`: limits against a run and its baseline, its exit codes, and what it writes."""

import subprocess
from xml.etree import ElementTree

import pytest
from conftest import REPLAY

MIB = 2**20


def job(peak_mib: int, kept_mib_a_step: int = 0, end: str = "header exit_mark=1\n") -> str:
    """Eight steps that each take and give back, and perhaps keep some; the card has 1 GiB."""
    lines = ["segment s 512MiB", "mem_info total=1GiB free=400MiB"]
    at = 0
    for number in range(8):
        if kept_mib_a_step:
            lines.append(f"alloc kept{number} s+{at}MiB {kept_mib_a_step}MiB site=7")
            at += kept_mib_a_step
        used = peak_mib - at
        lines += [f"alloc work{number} s+{at}MiB {used}MiB site=3", f"free work{number}", "step"]
    return "\n".join(lines) + "\n" + end


def failing() -> str:
    return job(200, end="failing 900MiB total=1GiB free=400MiB\n")


def test_a_run_within_its_limits_passes(encoded, memsnap):
    base, run = encoded("base.bin", job(200)), encoded("run.bin", job(204))

    done = memsnap("gate", base, run, "--max-peak", "+3%", "--max-retention", "0", "--min-headroom", "196MiB")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "204.00 MiB ≤ 206.00 MiB (baseline 200.00 MiB, limit +3%)" in done.stdout
    assert done.stdout.endswith("gate: kept\n")


def test_a_receipt_is_a_baseline_as_good_as_its_recording(encoded, memsnap, tmp_path):
    base, run = encoded("base.bin", job(200)), encoded("run.bin", job(230, kept_mib_a_step=2))
    subprocess.run([REPLAY, base, "--json", tmp_path / "baseline.json"], check=True, capture_output=True)
    limits = ("--max-peak", "+3%", "--max-reserved", "+0%", "--max-retention", "0")

    by_receipt, by_recording = memsnap("gate", tmp_path / "baseline.json", run, *limits), memsnap("gate", base, run, *limits)

    assert by_receipt.returncode == by_recording.returncode == 1
    assert by_receipt.stdout == by_recording.stdout


@pytest.mark.parametrize("limits, said", [
    (("--max-peak", "+3%"), "230.00 MiB > 206.00 MiB"),
    (("--max-peak", "+29MiB"), "230.00 MiB > 229.00 MiB"),
    (("--max-peak", "229MiB"), "230.00 MiB > 229.00 MiB"),
    (("--max-retention", "9MiB"), "10.00 MiB > 9.00 MiB"),
    (("--min-headroom", "1GiB"), "< 1.00 GiB"),
], ids=["part", "more", "absolute", "retention", "headroom"])
def test_a_broken_limit_is_said_with_its_inequality_and_exits_with_1(encoded, memsnap, limits, said):
    base, run = encoded("base.bin", job(200)), encoded("run.bin", job(230, kept_mib_a_step=2))

    done = memsnap("gate", base, run, *limits)

    assert done.returncode == 1, done.stdout + done.stderr
    assert said in done.stdout and done.stdout.endswith("gate: broken\n")


@pytest.mark.parametrize("limit, kept", [("10MiB", True), ("10485759", False)])
def test_a_limit_holds_to_the_byte(encoded, memsnap, limit, kept):
    run = encoded("run.bin", job(230, kept_mib_a_step=2))

    assert memsnap("gate", run, "--max-retention", limit).returncode == (0 if kept else 1)


def test_a_run_out_of_memory_breaks_the_gate_without_any_limit(encoded, memsnap):
    done = memsnap("gate", encoded("run.bin", failing()))

    assert done.returncode == 1 and "ran out of memory" in done.stdout


def test_what_is_not_known_is_undecided_and_never_kept(encoded, memsnap):
    run = encoded("run.bin", "segment s 40MiB\nalloc a s+0 8MiB\nfree a\n")

    done = memsnap("gate", run, "--max-peak", "1GiB", "--max-retention", "0", "--min-headroom", "1MiB")

    assert done.returncode == 11
    assert [line.split()[0] for line in done.stdout.splitlines()[1:-1]] == ["ok", "ok", "UNDECIDED", "UNDECIDED"]


def test_several_runs_are_each_judged_and_one_that_breaks_is_enough(encoded, memsnap):
    base, good, bad = encoded("base.bin", job(200)), encoded("good.bin", job(200)), encoded("bad.bin", job(300))

    done = memsnap("gate", base, good, bad, "--max-peak", "+1%")

    assert done.returncode == 1
    assert done.stdout.index("good.bin") < done.stdout.index("bad.bin") < done.stdout.index("BROKEN")
    assert memsnap("gate", "--no-baseline", base, good, bad, "--max-peak", "301MiB").returncode == 0


def test_another_job_than_the_baselines_is_said(encoded, memsnap):
    base, run = encoded("base.bin", job(200)), encoded("run.bin", "header torch_version=21401 world_size=8\n" + job(200))

    done = memsnap("gate", base, run, "--max-peak", "+3%")

    assert done.returncode == 0 and "not the baseline's job:" in done.stdout and "world_size" in done.stdout


def test_markdown_and_junit_say_the_same_findings(encoded, memsnap, tmp_path):
    base, run = encoded("base.bin", job(200)), encoded("run.bin", job(230))
    limits = ("--max-peak", "+3%", "--max-retention", "0")

    done = memsnap("gate", base, run, *limits, "--markdown", "gate.md", "--junit", "gate.xml")

    assert done.returncode == 1
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    failure = suite.find("testcase/failure").get("message")
    markdown = (tmp_path / "gate.md").read_text()
    assert failure in markdown and failure in done.stdout
    rows = [line for line in markdown.splitlines() if line.startswith("| run.bin")]
    assert len(rows) == 3 and "### GPU memory: broken" in markdown


def test_nothing_is_overwritten_unless_asked(encoded, memsnap, tmp_path):
    run = encoded("run.bin", job(200))
    (tmp_path / "gate.md").write_text("mine")

    refused = memsnap("gate", run, "--markdown", "gate.md")

    assert refused.returncode == 5 and "--force" in refused.stderr
    assert (tmp_path / "gate.md").read_text() == "mine"
    assert memsnap("gate", run, "--markdown", "gate.md", "--force").returncode == 0


def test_the_summary_of_a_workflow_is_appended_to(encoded, memsnap, tmp_path):
    run = encoded("run.bin", job(200))
    (tmp_path / "summary.md").write_text("before\n")

    done = memsnap("gate", run, "--summary", GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))

    assert done.returncode == 0
    assert (tmp_path / "summary.md").read_text().startswith("before\n### GPU memory: kept\n")


def test_the_name_of_a_file_cannot_leave_its_cell_or_its_element(encoded, memsnap, tmp_path):
    run = encoded("a|b`<script>&\x1b[31m.bin", job(200))

    done = memsnap("gate", run, "--markdown", "gate.md", "--junit", "gate.xml")

    assert done.returncode == 0 and "\x1b" not in done.stdout
    row = (tmp_path / "gate.md").read_text().splitlines()[4]
    assert row.count("|") - row.count("\\|") == 5 and "<" not in row and "`" not in row
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().find(".//testcase").get("classname").endswith("a|b`<script>&?[31m.bin")


@pytest.mark.parametrize("arguments, said", [
    (("--max-peak", "+3%"), "measured against a baseline"),
    (("--max-peak", "3 parsecs"), "no unit of bytes"),
    (("--max-peak", "lots"), "no size"),
    (("--max-peak", "0.3B"), "no whole number of bytes"),
    (("--summary",), "GITHUB_STEP_SUMMARY"),
    (("--markdown", "-", "--junit", "-"), "only one result"),
], ids=["no baseline", "unit", "size", "part of a byte", "summary", "twice"])
def test_a_wrong_use_is_said_and_exits_with_2(encoded, memsnap, arguments, said):
    done = memsnap("gate", encoded("run.bin", job(200)), *arguments)

    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize("name, content, code", [("missing.bin", None, 5), ("text.bin", "no recording", 3)])
def test_what_memsnap_replay_cannot_read_is_said_in_its_words_and_with_its_code(memsnap, tmp_path, name, content, code):
    if content is not None:
        (tmp_path / name).write_text(content)

    done = memsnap("gate", name)

    assert done.returncode == code and name in done.stderr and "Traceback" not in done.stderr


def test_without_memsnap_replay_it_is_said_how_to_name_it(memsnap, tmp_path):
    done = memsnap("gate", "run.bin", MEMSNAP_REPLAY=str(tmp_path / "none"))

    assert done.returncode == 2 and "memsnap-replay" in done.stderr
