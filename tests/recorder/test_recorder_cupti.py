# SPDX-License-Identifier: Apache-2.0
"""The cross-check by CUPTI, with a small CUPTI of our own: what it saw is in the file, and where it cannot run the job goes on."""

import pathlib
import shutil
import subprocess
import time

import pytest

from recorded import BUILD, LIBRARY, TOP, Run, clean_environment, kinds, records_of

CUPTI_MEMORY = 83
FAKE = BUILD / "libfake_cupti.so"
ALLOCATION = {"address": 0x7000000000, "size": 2 << 20, "link": 1000, "extra": 3, "device": 0, "code": 1}
RELEASE = {"address": 0x7000000000, "size": 2 << 20, "link": 2000, "extra": 3, "device": 1, "code": 2}


class Job:
    """The program with the recorder, and with the libraries of a folder where CUPTI is looked for, until it is told to end."""

    def __init__(self, folder: pathlib.Path, *arguments: str, **environment: str):
        self.folder = folder
        self.said_file = folder / "said"
        self.stderr_file = folder / "stderr"
        environment = {"MEMSNAP_CUPTI": "1", "LD_LIBRARY_PATH": folder / "libraries", "FAKE_CUDA": BUILD / "libfake_cuda.so",
                       "FAKE_CUPTI_SAID": self.said_file, "MEMSNAP_RING_MB": "8", "MEMSNAP_TABLE_ENTRIES": "4096"} | environment
        with self.stderr_file.open("w") as stderr:
            self.process = subprocess.Popen(
                [BUILD / "driver_until_eof", *arguments], cwd=folder, env=clean_environment(LD_PRELOAD=LIBRARY, **environment),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)

    def said(self) -> list[list[str]]:
        """What was called: process id and call."""
        return [line.split(maxsplit=1) for line in self.said_file.read_text().splitlines()] if self.said_file.exists() else []

    def calls(self) -> list[str]:
        return [call for _, call in self.said()]

    def wait_for(self, condition) -> None:
        deadline = time.monotonic() + 30
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert condition(), (self.said(), self.stderr_file.read_text())

    def wait_for_call(self, call: str) -> None:
        self.wait_for(lambda: call in self.calls())

    def wait_for_line(self) -> None:
        self.wait_for(lambda: self.stderr_file.read_text().endswith("\n"))

    def end(self) -> dict:
        """The ring of the program, which ends well."""
        stdout, _ = self.process.communicate(timeout=60)
        assert (self.process.returncode, stdout) == (0, "done\n")
        return Run(self.folder, self.process).ring()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "libraries").mkdir()
    return tmp_path


@pytest.fixture
def job(folder):
    """job() with CUPTI where the dynamic linker finds it."""
    shutil.copy(FAKE, folder / "libraries/libcupti.so.13")
    return lambda *arguments, **environment: Job(folder, *arguments, **environment)


def seen(ring: dict) -> list[dict]:
    return [{field: one[field] for field in ALLOCATION} for one in records_of(ring, CUPTI_MEMORY)]


def line_of(job: Job) -> str:
    lines = job.stderr_file.read_text().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_each_memory_record_is_in_the_file_and_nothing_else_that_cupti_saw(job):
    running = job()
    running.wait_for_call("flush")
    assert seen(running.end()) == [ALLOCATION, RELEASE]
    assert running.stderr_file.read_text() == ""


def test_what_was_not_collected_yet_is_collected_at_exit(job):
    running = job()
    running.wait_for_call("enable")
    assert running.end() and running.calls()[-1] == "forced flush"


def test_cupti_is_not_touched_unless_asked_for(job):
    for value in ("", "0", "yes"):
        running = job(MEMSNAP_CUPTI=value, MEMSNAP_OUT=f"ring-{value}.bin")
        stdout, _ = running.process.communicate(timeout=60)
        assert stdout == "done\n" and running.said() == []
    assert all(CUPTI_MEMORY not in kinds(ring) for ring in Run(running.folder, running.process).rings())


@pytest.mark.parametrize("call, code, reason", [
    ("subscribe", 39, "another tool uses CUPTI"), ("subscribe", 999, "CUPTI refuses"),
    ("register", 1, "CUPTI refuses"), ("enable", 10, "CUPTI refuses"),
])
def test_a_cupti_that_refuses_is_left_alone_and_that_is_said_once(job, call, code, reason):
    running = job(FAKE_CUPTI_REFUSE=call, FAKE_CUPTI_CODE=str(code))
    running.wait_for_line()
    assert seen(running.end()) == []
    assert f": {reason}; recording to " in line_of(running)
    given_back = [] if call == "subscribe" else ["unsubscribe"]
    assert running.calls()[running.calls().index(call) + 1 :] == given_back


def test_a_machine_without_a_cupti_that_can_be_loaded_is_told_so(folder):
    for name in ("libcupti.so.13", "libcupti.so.12", "libcupti.so"):  # in front of whatever this machine has
        (folder / "libraries" / name).write_text("not a library")
    running = Job(folder)
    running.wait_for_line()
    assert seen(running.end()) == []
    assert ": no CUPTI library can be loaded; recording to " in line_of(running)


def test_a_library_of_that_name_without_the_functions_is_not_used(folder):
    shutil.copy(BUILD / "libno_unnamed_files.so", folder / "libraries/libcupti.so.13")
    running = Job(folder)
    running.wait_for_line()
    assert seen(running.end()) == []
    assert ": the CUPTI library lacks what is needed; recording to " in line_of(running)


def test_more_than_the_buffers_hold_is_dropped_by_cupti_and_that_is_said(job):
    running = job(FAKE_CUPTI_COUNT="50000")
    running.wait_for_line()
    ring = running.end()
    assert 64 * 512 - 2 <= len(seen(ring)) < 50000
    assert ": CUPTI dropped memory records; recording to " in line_of(running)


def test_buffers_are_used_again(job):
    running = job(FAKE_CUPTI_COUNT="12000")  # all buffers together hold 32,000
    running.wait_for(lambda: running.calls().count("flush") >= 2)
    assert seen(running.end())[-1] == RELEASE
    assert running.stderr_file.read_text() == ""


def test_a_forked_child_never_calls_the_cupti_of_its_parent(job):
    running = job("fork")
    running.wait_for_call("enable")
    assert running.end()
    assert {process for process, _ in running.said()} == {str(running.process.pid)}


@pytest.mark.parametrize("runtime, cupti", [
    ("nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcupti.so.13"),
    ("nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cuda_cupti/lib/libcupti.so.12"),
    ("cuda/lib64/libcudart.so.13", "cuda/extras/CUPTI/lib64/libcupti.so"),
])
def test_it_is_found_beside_the_runtime_that_the_program_loaded(folder, runtime, cupti):
    for source, name in ((BUILD / "libfake_cudart_13.so", runtime), (FAKE, cupti)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    running = Job(folder, RUNTIME=folder / runtime)
    running.wait_for_call("enable")
    assert ALLOCATION in seen(running.end())


def test_what_is_restated_of_its_headers_is_what_they_say(tmp_path):
    folders = [found.parent for found in (TOP / "build/venv").glob("lib/python3*/site-packages/*/*/include/cupti_activity.h")]
    folders += [found.parent for found in (TOP / "build/venv").glob("lib/python3*/site-packages/triton/backends/*/include/cupti_activity.h")]
    if not folders:
        pytest.skip("no wheel with CUPTI's headers is installed")
    fields = {"kind": "kind", "operation": "memoryOperationType", "memory_kind": "memoryKind", "correlation": "correlationId", "address": "address",
              "bytes": "bytes", "timestamp_ns": "timestamp", "program_counter": "PC", "process": "processId", "device": "deviceId"}
    numbers = {"kMemory2": "CUPTI_ACTIVITY_KIND_MEMORY2", "kAllocation": "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION",
               "kRelease": "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE", "kFlushForced": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
               "kSuccess": "CUPTI_SUCCESS", "kMultipleSubscribers": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"}
    source = tmp_path / "layout.cpp"
    source.write_text("\n".join([
        "#include <cupti.h>", '#include "cupti_abi.h"', "namespace ours = memsnap::recorder::cupti;", "ours::Functions functions;",
        *(f"static_assert(offsetof(ours::MemoryActivity, {own}) == offsetof(CUpti_ActivityMemory4, {theirs}));" for own, theirs in fields.items()),
        *(f"static_assert(static_cast<int>(ours::{own}) == static_cast<int>({theirs}));" for own, theirs in numbers.items()),
        "static_assert(sizeof(CUptiResult) == sizeof(int) && sizeof(CUpti_ActivityKind) == sizeof(uint32_t));",
    ]))
    includes = [f"-I{folder}" for folder in (*folders, TOP / "interpose")]
    subprocess.run(["g++", "-std=c++20", "-fsyntax-only", *includes, source], check=True)
