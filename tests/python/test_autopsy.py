# SPDX-License-Identifier: Apache-2.0
"""An autopsy of a program without the recorder: when PyTorch's history is on, which files are left, and that nothing else changes. PyTorch
is a stand-in (stand_in_torch) that prints what it is told."""

import os
import pathlib
import pickle
import stat
import subprocess
import sys
import textwrap

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
TORCH = pathlib.Path(__file__).with_name("stand_in_torch")
ON, OFF = "history all all python 100000 False", "history None all all 9223372036854775807 False"
FAIL = """
    def fail(**how):
        try:
            torch.oom(**how)
        except torch.OutOfMemoryError as error:
            print("caught", error)
"""


@pytest.fixture
def run(tmp_path):
    """run(program, code=0, **environment): its lines of standard output, and of standard error."""

    def run(program: str, code: int = 0, **extra):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")}
        environment = inherited | {"PYTHONPATH": f"{TORCH}:{PACKAGE}", "PYTHONDONTWRITEBYTECODE": "1"} | extra
        source = "import memsnap\n" + textwrap.dedent(FAIL) + textwrap.dedent(program)
        done = subprocess.run([sys.executable, "-c", source], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done.stdout.splitlines(), done.stderr.splitlines()

    return run


def files(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_caught_failure_leaves_a_snapshot_with_the_devices_answer_and_one_line(run, tmp_path):
    out, err = run("""
        import torch
        with memsnap.autopsy("oom.pickle"):
            print("armed")
            fail()
        print("done")
    """)

    assert out == ["armed", "observer", ON, "caught CUDA out of memory", OFF, "done"]
    path = tmp_path / "oom.pickle"
    assert err == [f"memsnap: out of memory on cuda:0: snapshot in {path}; read it with: memsnap-replay {path}"]
    assert files(tmp_path) == ["oom.pickle"] and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes()[:2] == b"\x80\x04"
    snapshot = pickle.loads(path.read_bytes())
    assert snapshot["memsnap"] == {"version": 1, "observations": [{"device": 0, "before_entry": 1, "total_bytes": 1 << 20, "free_bytes": 512}]}
    assert snapshot["device_traces"][0][1]["action"] == "oom" and snapshot["segments"] == []


def test_earlier_failures_of_the_history_have_their_answers_too(run, tmp_path):
    run("""
        import torch
        with memsnap.autopsy("oom.pickle", quiet=True):
            fail(free_bytes=100); fail(device=1, free_bytes=300)
    """)

    (first, last) = (pickle.loads((tmp_path / name).read_bytes())["memsnap"]["observations"] for name in ("oom.pickle", "oom-2.pickle"))
    assert [(seen["device"], seen["before_entry"], seen["free_bytes"]) for seen in first] == [(0, 1, 100)]
    assert [(seen["device"], seen["before_entry"], seen["free_bytes"]) for seen in last] == [(0, 1, 100), (1, 0, 300)]


def test_nothing_is_asked_of_cuda_before_the_program_starts_it(run):
    out, err = run("""
        with memsnap.autopsy(): pass
        memsnap.autopsy.install()
        import torch
        print("imported")
        memsnap.autopsy.uninstall()
        memsnap.autopsy.install()
        print("not started yet")
        torch.cuda.init()
        memsnap.autopsy.uninstall()
    """)

    assert out == ["imported", "not started yet", "observer", ON, OFF] and err == []


def test_an_autopsy_that_ended_before_cuda_started_records_nothing(run, tmp_path):
    out, err = run("""
        import torch
        with memsnap.autopsy(): pass
        fail()
    """)

    assert out == ["observer", "caught CUDA out of memory"] and err == [] and files(tmp_path) == []


def test_a_program_that_never_imports_torch_is_left_alone(run, tmp_path):
    out, err = run("""
        import sys
        with memsnap.autopsy(): print("torch" in sys.modules)
    """)

    assert out == ["False"] and err == [] and files(tmp_path) == []


@pytest.mark.parametrize("moment", ["_cuda_isHistoryEnabled", "_cuda_record_memory_history"])
def test_an_autopsy_that_another_thread_ends_while_cuda_starts_leaves_no_history_on(run, moment):
    out, err = run(f"""
        import threading, torch
        memsnap.autopsy.install()
        plain = torch._C.{moment}
        def meanwhile(*arguments):
            torch._C.{moment} = plain
            other = threading.Thread(target=memsnap.autopsy.uninstall)
            other.start(); other.join()
            return plain(*arguments)
        torch._C.{moment} = meanwhile
        torch.cuda.init()
        print(torch._C._cuda_isHistoryEnabled(), torch._C._cuda_record_memory_history.__name__)
        with memsnap.autopsy(): print("again")
    """)

    assert out == ["observer", ON, OFF, "False _cuda_record_memory_history", ON, "again", OFF] and err == []


@pytest.mark.parametrize("leaving", ["raise ValueError('mine')", "raise KeyboardInterrupt", "raise SystemExit(3)", "torch.oom()"])
def test_whatever_leaves_the_block_switches_the_history_off_and_is_what_it_was(run, leaving):
    out, _ = run(f"""
        import torch
        torch.cuda.init()
        try:
            with memsnap.autopsy():
                {leaving}
        except BaseException as error:
            print(repr(error))
    """)

    assert out[:2] == ["observer", ON] and out[2] == OFF
    assert out[3] in ("ValueError('mine')", "KeyboardInterrupt()", "SystemExit(3)", "OutOfMemoryError('CUDA out of memory')")


def test_an_uncaught_failure_ends_the_program_as_ever_with_the_file_there(run, tmp_path):
    out, err = run("""
        import torch
        memsnap.autopsy.install("oom-%p-%r.pickle")
        torch.oom()
    """, code=1, RANK="3")

    assert out == ["observer", ON, OFF] and err[-1] == "torch.OutOfMemoryError: CUDA out of memory"
    (name,) = files(tmp_path)
    assert name.startswith("oom-") and name.endswith("-3.pickle") and name[4:-9].isdecimal()


def test_nested_and_repeated_use_keeps_one_history_and_the_innermost_says_where(run, tmp_path):
    out, _ = run("""
        import torch
        torch.cuda.init()
        outer = memsnap.autopsy("outer.pickle")
        with outer:
            with memsnap.autopsy("inner.pickle"):
                with outer: pass
                fail()
            with outer: fail()
        fail()
        with outer: print("again")
    """)

    assert out == ["observer", ON, "caught CUDA out of memory", "caught CUDA out of memory", OFF, "caught CUDA out of memory", ON, "again", OFF]
    assert files(tmp_path) == ["inner.pickle", "outer.pickle"]


def test_the_outermost_says_what_is_kept_also_before_cuda_has_started(run):
    out, _ = run("""
        import torch
        with memsnap.autopsy(max_entries=5):
            with memsnap.autopsy(max_entries=6): torch.cuda.init()
    """)

    assert out[1] == "history all all python 5 False"


def test_a_history_of_the_programs_own_is_left_on(run):
    out, _ = run("""
        import torch
        torch.cuda.memory._record_memory_history(max_entries=7)
        with memsnap.autopsy("oom.pickle"): fail()
        print(torch._C._cuda_isHistoryEnabled())
    """)

    assert out == ["history all all all 7 False", "observer", "caught CUDA out of memory", "True"]


def test_a_history_that_the_program_touches_meanwhile_is_the_programs(run):
    out, _ = run("""
        import torch
        plain = torch._C._cuda_record_memory_history
        torch.cuda.init()
        with memsnap.autopsy():
            torch.cuda.memory._record_memory_history(max_entries=7)
        print(torch._C._cuda_isHistoryEnabled(), torch._C._cuda_record_memory_history is plain)
        with memsnap.autopsy(): torch.cuda.memory._record_memory_history(None)
        with memsnap.autopsy(): pass
        print(torch._C._cuda_isHistoryEnabled(), torch._C._cuda_record_memory_history is plain)
    """)

    everything = "9223372036854775807 False"
    assert out == ["observer", ON, "history all all all 7 False", "True True", f"history None all all {everything}", ON, OFF, "False True"]


def test_functions_generators_and_coroutines_are_armed_while_they_run(run):
    out, _ = run("""
        import asyncio, inspect, torch
        torch.cuda.init()
        armed = torch._C._cuda_isHistoryEnabled

        @memsnap.autopsy(quiet=True)
        def function(): return armed()

        @memsnap.autopsy(quiet=True)
        def generator():
            yield armed()
            return 5

        @memsnap.autopsy(quiet=True)
        async def coroutine():
            await asyncio.sleep(0)
            return armed()

        print(function(), armed(), list(generator()), armed(), asyncio.run(coroutine()), armed())
        print(inspect.isgeneratorfunction(generator), inspect.iscoroutinefunction(coroutine), function.__name__)
        left = generator(); next(left); left.close()
        print(armed())
    """)

    assert [line for line in out if not line.startswith(("history", "observer"))] == [
        "True False [True] False True False", "True True function", "False"
    ]


@pytest.mark.parametrize("wrong, error", [
    ("limit=0", "ValueError"), ("limit=1.5", "TypeError"), ("max_entries=0", "ValueError"), ("context='some'", "ValueError"),
    ("stacks=None", "ValueError"), ("path=7", "TypeError"),
])
def test_wrong_arguments_raise_whether_there_is_a_torch_or_not(run, wrong, error):
    out, _ = run(f"""
        try: memsnap.autopsy({wrong})
        except {error} as error: print("refused", error)
    """)

    assert out[0].startswith("refused ")


def test_quiet_says_nothing(run, tmp_path):
    _, err = run("""
        import torch
        with memsnap.autopsy("oom.pickle", quiet=True): fail()
    """)
    _, also = run("""
        import torch
        with memsnap.autopsy("oom.pickle"): fail()
        memsnap.autopsy.install("missing/oom.pickle"); fail()
    """, MEMSNAP_QUIET="1")

    assert err == [] == also and files(tmp_path) == ["oom-2.pickle", "oom.pickle"]


@pytest.mark.parametrize("like, reason", [
    ({"TORCH": "2.0.1"}, "PyTorch 2.0.1 keeps no history that can be bounded; 2.1 and later do"),
    ({"TORCH_CUDA": ""}, "this PyTorch is built without CUDA"),
    ({"TORCH_BACKEND": "cudaMallocAsync"}, "PyTorch's allocator backend cudaMallocAsync keeps no history"),
])
def test_a_torch_without_a_history_is_said_once_and_left_alone(run, tmp_path, like, reason):
    out, err = run("""
        import torch
        for attempt in range(3):
            with memsnap.autopsy("oom.pickle"): fail()
    """, **like)

    assert out == ["caught CUDA out of memory"] * 3 and err == [f"memsnap: no autopsy: {reason}"] and files(tmp_path) == []


def test_the_first_release_with_a_bounded_history_is_told_what_it_knows(run, tmp_path):
    out, _ = run("""
        import torch
        with memsnap.autopsy("oom.pickle", max_entries=9, context="alloc", stacks="all"): fail()
    """, TORCH="2.1.2")

    assert out[:2] == ["observer", "history all alloc all 9"] and files(tmp_path) == ["oom.pickle"]
