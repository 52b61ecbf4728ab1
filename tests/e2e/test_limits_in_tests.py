# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin on real PyTorch: which tests it fails, what it says, and that it leaves others alone, recorded and not."""

import re
import sys
import textwrap

import pytest

from conftest import REPLAY

PLUGIN = "memsnap.gate._pytest_plugin"
HEAD = """
    import gc, pytest, torch
    MIB = 2**20
    kept = []

    def take(mib):
        return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")

"""


TOOLS = {"MEMSNAP_REPLAY": str(REPLAY)}


def command_of(bench, source: str, options: tuple) -> tuple:
    """pytest with the plugin on a file of tests, which is written."""
    (bench.folder / "test_memory.py").write_text(textwrap.dedent(HEAD) + textwrap.dedent(source))
    return sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *options, "test_memory.py"


def run_recorded(bench, source: str, *options: str, **variables: str):
    return bench.run_hooked(*command_of(bench, source, options), **TOOLS, **variables)


@pytest.fixture(params=["recorded", "not recorded"])
def recorded(request):
    return request.param == "recorded"


@pytest.fixture
def run_tests(bench, recorded):
    """run_tests(source): pytest on it, with the plugin; in the process the recorder, or PyTorch's counters alone."""

    def run(source: str, *options: str):
        return run_recorded(bench, source, *options) if recorded else bench.run(*command_of(bench, source, options), record=False, **TOOLS)

    return run


def failures(job) -> list:
    return re.findall(r"^FAILED test_memory\.py::(\w+)", job.stdout, re.M)


def test_a_test_that_takes_more_than_its_limit_fails_and_says_by_whom(run_tests, recorded):
    job = run_tests("""
        @pytest.mark.limit_gpu_memory("100 MiB")
        def test_within():
            take(60); take(60)

        @pytest.mark.limit_gpu_memory("100 MiB")
        def test_beyond():
            first = take(60)
            second = take(50)
    """)

    assert job.code == 1 and failures(job) == ["test_beyond"], job.stdout
    assert "took 110.00 MiB of cuda:0 on top of 0 B, the limit is 100.00 MiB" in job.stdout
    assert ("take (test_memory.py:" in job.stdout) == recorded


def test_a_test_that_leaves_memory_behind_fails_and_what_a_cycle_holds_is_no_leak(run_tests, recorded):
    job = run_tests("""
        @pytest.mark.limit_gpu_leaks("0")
        def test_leaves():
            kept.append(take(10))

        @pytest.mark.limit_gpu_leaks("0")
        def test_cycle():
            cycle = [take(20)]
            cycle.append(cycle)
    """)

    assert failures(job) == ["test_leaves"], job.stdout
    assert "left 10.00 MiB of cuda:0" in job.stdout


def test_only_what_a_test_adds_counts_against_it(run_tests):
    job = run_tests("""
        def test_without_a_mark():
            kept.append(take(500))

        @pytest.mark.limit_gpu_memory("20 MiB")
        def test_small():
            take(10)

        @pytest.mark.limit_gpu_memory("5 MiB")
        def test_too_much():
            take(10)
    """)

    assert failures(job) == ["test_too_much"], job.stdout
    assert "took 10.00 MiB of cuda:0 on top of 500.00 MiB" in job.stdout


def test_a_test_that_fails_by_itself_says_its_own_error(run_tests):
    job = run_tests("""
        @pytest.mark.limit_gpu_memory("1 MiB")
        def test_wrong():
            take(10)
            assert 1 == 2

        @pytest.mark.limit_gpu_memory("1 MiB")
        def test_after_it():
            pass

        @pytest.mark.limit_gpu_memory("1 MiB")
        def test_without_a_gpu():
            assert sum(range(3)) == 3
    """)

    assert failures(job) == ["test_wrong"] and "assert 1 == 2" in job.stdout, job.stdout
    assert "the limit is" not in job.stdout


def test_off_measures_nothing_and_a_wrong_mark_is_an_error(run_tests):
    source = """
        @pytest.mark.limit_gpu_memory("1 MiB")
        def test_much():
            take(10)
    """
    assert run_tests(source, "--memsnap=off").code == 0
    wrong = run_tests(source.replace('"1 MiB"', '"1 parsec"'))
    assert wrong.code != 0 and "no unit of bytes" in wrong.stdout + wrong.stderr


def test_required_without_the_recorder_a_marked_test_fails_and_says_how(run_tests, recorded):
    job = run_tests("""
        @pytest.mark.limit_gpu_memory("100 MiB")
        def test_small():
            take(1)
    """, "--memsnap=require")

    assert (job.code, "memsnap run -- pytest" in job.stdout) == ((0, False) if recorded else (1, True)), job.stdout


LEAKY = """
    @pytest.mark.limit_gpu_memory("1 MiB")
    @pytest.mark.limit_gpu_leaks("0")
    def test_much():
        kept.append(take(900))
"""


@pytest.mark.parametrize("choice, variables, reason", [
    ("auto", {"MEMSNAP_DISABLE": "1"}, "it has no recording: MEMSNAP_DISABLE is 1"),
    ("require", {"MEMSNAP_OUT": "/proc/none/ring.bin"}, "it has no recording: "),
    ("require", {"MEMSNAP_ARM": "cold"}, "is dormant: memsnap arm "),
    ("auto", {"MEMSNAP_ARM": "standby"}, "is dormant: memsnap arm "),
])
def test_what_the_recorder_did_not_record_is_not_within_a_limit(bench, choice, variables, reason):
    job = run_recorded(bench, LEAKY, f"--memsnap={choice}", **variables)

    assert job.code == 1 and failures(job) == ["test_much"], job.stdout
    assert reason in job.stdout


def test_a_recording_that_was_deleted_measures_nothing(bench):
    job = run_recorded(bench, """
        import glob, os

        def test_first():
            kept.append(take(1))
            for path in glob.glob("ring-*.bin*"):
                os.unlink(path)

        @pytest.mark.limit_gpu_memory("1 MiB")
        def test_much():
            take(900)
    """, "--memsnap=require")

    assert job.code == 1 and failures(job) == ["test_much"], job.stdout
    assert "it has no recording: its recording was deleted" in job.stdout


def test_without_a_gpu_in_use_nothing_was_taken_whatever_became_of_the_recorder(bench):
    job = run_recorded(bench, """
        @pytest.mark.limit_gpu_memory("0")
        def test_on_the_cpu():
            assert torch.ones(3).sum() == 3
    """, "--memsnap=require", MEMSNAP_DISABLE="1")

    assert job.code == 0, job.stdout
