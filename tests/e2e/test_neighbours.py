# SPDX-License-Identifier: Apache-2.0
"""Other tools in the same process, or around it: the job ends and speaks as it would without the recorder, and its file opens."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import BUILD, NATIVE, RECORDER

FLAGS = ["-D_GNU_SOURCE", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder, runtime = tmp_path_factory.mktemp("neighbours"), BUILD / "tests/simcuda"

    def build(output, source, *flags, compiler="cc"):
        subprocess.run([compiler, *FLAGS, "-o", folder / output, NATIVE / source, *flags], check=True)

    build("taker", "taker.c", f"-L{runtime}", "-l:libcudart.so.13")
    build("libother_hook.so", "other_hook.c", "-shared", "-fPIC")
    build("libinjected.so", "injected.c", "-shared", "-fPIC")
    build("bystander", "bystander.c")
    build("static", "bystander.c", "-static", "-DSTATIC")
    build("musl", "bystander.c", compiler="musl-gcc")
    return folder


def library(name):
    found = sorted(pathlib.Path("/usr/lib").glob(f"*/{name}"))
    assert found, f"{name} is missing: run scripts/setup"
    return str(found[0])


def run(bench, command, preload, simcuda=True, **environment):
    """One run in the bench's folder with these libraries preloaded: (exit code, standard output, standard error)."""
    done = subprocess.run(
        bench.command(*command) if simcuda else [str(part) for part in command],
        cwd=bench.folder, env=bench.environment(record=False, **environment) | {"LD_PRELOAD": ":".join(preload), "MEMSNAP_QUIET": "1"},
        capture_output=True, text=True, timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


def assert_same_and_recorded(bench, command, before=(), after=(), **environment):
    unrecorded = run(bench, command, [*before, *after], **environment)
    assert bench.rings() == []

    recorded = run(bench, command, [*before, str(RECORDER), *after], **environment)

    assert recorded == unrecorded
    assert bench.rings() and all(bench.replay("check", ring).code == 0 for ring in bench.rings())
    return recorded


def assert_same_and_no_file(bench, command, **environment):
    unrecorded = run(bench, command, [], simcuda=False, **environment)

    assert run(bench, command, [str(RECORDER)], simcuda=False, **environment) == unrecorded
    assert list(bench.folder.glob("*.bin*")) == []
    return unrecorded


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_another_malloc_preloaded_before_or_after_changes_nothing(bench, allocator, place):
    code, output, _ = assert_same_and_recorded(bench, ["outcomes.py", "oom_caught"], **{place: [library(allocator)]})
    assert code == 0 and output.endswith("went on\n")


@pytest.mark.parametrize("place", ["before", "after"])
def test_another_dlsym_hook_before_or_after_changes_nothing(bench, built, place):
    code, output, _ = assert_same_and_recorded(bench, ["outcomes.py", "oom_caught"], **{place: [str(built / "libother_hook.so")]})
    assert code == 0 and output.endswith("went on\n")


def test_the_profiler_of_pytorch_works_as_ever(bench):
    code, output, _ = assert_same_and_recorded(bench, ["neighbours.py", "profiler"], KINETO_LOG_LEVEL="99")
    assert code == 0 and output.startswith("rows 1 ")


def test_injection_variables_that_are_set_stay_what_they_are(bench, built):
    injected = str(built / "libinjected.so")
    code, output, _ = assert_same_and_recorded(bench, ["neighbours.py", "nvtx"], NVTX_INJECTION64_PATH=injected, CUDA_INJECTION64_PATH="/nowhere.so")
    assert code == 0
    assert output.splitlines() == [
        "injected", f"NVTX_INJECTION64_PATH {injected} b'{injected}'", "CUDA_INJECTION64_PATH /nowhere.so b'/nowhere.so'"]


def test_injection_variables_that_are_not_set_stay_unset_where_ranges_are_not_wanted(bench):
    _, output, _ = assert_same_and_recorded(bench, ["neighbours.py", "nvtx"], MEMSNAP_NVTX="0")
    assert output.splitlines() == ["NVTX_INJECTION64_PATH None None", "CUDA_INJECTION64_PATH None None"]


@pytest.mark.parametrize("around", [
    ["gdb", "-batch", "-nx", "-return-child-result", "-iex", "set debuginfod enabled off", "-ex", "run", "--args"],
    ["strace", "-f", "-o", "/dev/null"],
    ["valgrind", "-q", "--error-exitcode=99"],
], ids=lambda around: around[0])
def test_a_debugger_or_tracer_around_a_job_changes_nothing(bench, built, around):
    def is_the_jobs(line: str) -> bool:  # and no notice of the debugger about a thread, ours or another
        return "hread" not in line and not line.startswith("[New ")

    def without_numbers(seen):
        code, output, errors = seen
        return code, re.sub(r"(process|LWP|Thread|==)\s*[0-9a-fx]+", r"\1 N", "\n".join(filter(is_the_jobs, output.splitlines()))), errors

    command = [*around, built / "taker"]
    unrecorded = without_numbers(run(bench, command, []))
    recorded = without_numbers(run(bench, command, [str(RECORDER)]))
    assert recorded == unrecorded
    assert recorded[0] == 3 and "results 0 0 0" in recorded[1]
    assert len(bench.rings()) == 1 and bench.replay("check", bench.rings()[0]).code == 0


def test_shells_and_git_that_inherit_the_preload_are_left_alone(bench):
    script = "git init -q . && echo text > file && git add file && git -c user.name=a -c user.email=b commit -qm message && git log --format=%s | cat"
    code, output, errors = assert_same_and_no_file(bench, ["bash", "-c", f"rm -rf .git file; {script}; (exit 3) || echo $? | sed s/3/three/"])
    assert (code, output, errors) == (0, "message\nthree\n", "")


def test_a_static_binary_runs_unrecorded(bench, built):
    code, output, errors = assert_same_and_no_file(bench, [built / "static"])
    assert (code, errors) == (3, "") and output.startswith("thread 1\nchild 5 ")


def test_a_musl_program_runs_unrecorded(bench, built):
    code, output, errors = assert_same_and_no_file(bench, [built / "musl"])
    assert (code, errors) == (3, "") and output.startswith("thread 1\nmalloc 1 cudaMalloc 0\nclose 0\nchild 5 ")


def test_a_program_without_cuda_does_not_see_the_recorder(bench, built):
    code, output, errors = assert_same_and_no_file(bench, [built / "bystander"])
    assert (code, errors) == (3, "") and output.startswith("thread 1\nmalloc 1 cudaMalloc 0\nclose 0\nchild 5 ")


@pytest.fixture
def setuid_program(built):
    """A program of root's that nobody may start with root's rights, where nobody can reach it."""
    if os.getuid() != 0:
        pytest.skip("making a setuid program takes root")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="memsnap-setuid-", dir="/var/tmp"))
    shutil.copy(built / "bystander", folder)
    shutil.copy(RECORDER, folder)
    (folder / "bystander").chmod(0o4755)
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_a_setuid_program_runs_unrecorded(setuid_program):
    nobody = 65534

    def start(**environment):
        done = subprocess.run([setuid_program / "bystander"], cwd=setuid_program, env={"MEMSNAP_OUT": "ring.bin"} | environment,
                              user=nobody, group=nobody, extra_groups=[], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    code, output, _ = unrecorded = start()
    if f"user {nobody} 0" not in output:
        pytest.skip("this place does not honour setuid")
    assert start(LD_PRELOAD=str(setuid_program / "libmemsnap.so")) == unrecorded
    assert code == 3
    assert sorted(file.name for file in setuid_program.iterdir()) == ["bystander", "libmemsnap.so"]
