# SPDX-License-Identifier: Apache-2.0
"""`memsnap attach` without a GPU or PyTorch: what it refuses and why, what runs inside the job and what that leaves behind, and how a line of
Python comes into a running interpreter."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import time

import pytest

from memsnap.attach import _attach, _debugger, _handover, _refusals, _symbols, _target

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
FULL = dict.fromkeys((*_debugger.FUNCTIONS, "mmap"), 4096)
JOB = _target.Target(
    pid=os.getpid(), owner=0, inner_pid=os.getpid(), root="", executable="/usr/bin/python3", paths=frozenset({"/torch/libc10_cuda.so", "/lib/libcuda.so.1"}),
    addresses=FULL, machine=62, python=(3, 11), free_threaded=False,
)  # fmt: skip
MACHINE = _refusals.Machine(user=1000, may_trace_all=False, ptrace_scope=0, gdb="/usr/bin/gdb", architecture=62)
NEEDS_GDB = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")


def test_a_job_that_nothing_is_in_the_way_of_is_not_refused():
    assert _refusals.refusal(JOB, MACHINE) is None


@pytest.mark.parametrize("job, machine, said, way_out", [
    ({}, {"ptrace_scope": 1}, "ptrace_scope is 1", "sudo"),
    ({}, {"ptrace_scope": 2}, "ptrace_scope is 2", "SYS_PTRACE"),
    ({}, {"ptrace_scope": 3}, "ptrace_scope is 3", "memsnap run"),
    ({"addresses": {}}, {}, "no Python was found", "preload"),
    ({"addresses": {"mmap": 1}}, {}, "no Python was found", "preload"),
    ({"addresses": {name: 1 for name in FULL if name != "mmap"}}, {}, "does not show mmap", "preload"),
    ({"machine": 3}, {}, "another processor", "preload"),
    ({"free_threaded": True}, {}, "free-threaded", "preload"),
    ({"paths": frozenset({"/lib/libcuda.so.1"})}, {}, "no PyTorch with CUDA", "imported torch"),
    ({"paths": frozenset({"/torch/libc10_cuda.so"})}, {}, "has not started CUDA", "nothing is lost"),
    ({}, {"gdb": None}, "gdb is not installed", "apt install gdb"),
])  # fmt: skip
def test_each_refusal_says_what_is_in_the_way_and_the_way_out(job, machine, said, way_out):
    refused = _refusals.refusal(dataclasses.replace(JOB, pid=1, **job), dataclasses.replace(MACHINE, **machine))

    assert said in refused and way_out in refused


def test_who_may_trace_all_is_not_stopped_by_the_scope_and_python_3_14_needs_no_gdb():
    assert _refusals.refusal(dataclasses.replace(JOB, pid=1), dataclasses.replace(MACHINE, may_trace_all=True, ptrace_scope=2)) is None
    assert _refusals.refusal(dataclasses.replace(JOB, python=(3, 14)), dataclasses.replace(MACHINE, gdb=None)) is None


def test_a_child_may_be_traced_at_scope_one():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        scoped = dataclasses.replace(MACHINE, ptrace_scope=1)
        assert _refusals.refusal(dataclasses.replace(JOB, pid=child.pid), scoped) is None
        assert "ptrace_scope" in _refusals.refusal(dataclasses.replace(JOB, pid=os.getppid()), scoped)
        child.communicate(b"\n")


def test_gone_ended_and_others_processes_are_told_apart_before_they_are_looked_into():
    child = subprocess.Popen(["true"])
    while pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)

    assert "a zombie" in _refusals.before_looking(child.pid, MACHINE)
    child.wait()
    assert _refusals.before_looking(child.pid, MACHINE) == "no such process"
    other = dataclasses.replace(MACHINE, user=os.geteuid() + 1)
    assert f"user {os.geteuid()}: attach as that user, or as root" in _refusals.before_looking(os.getpid(), other)


def test_a_container_without_the_library_is_offered_a_copy(tmp_path):
    job = dataclasses.replace(JOB, root=str(tmp_path))

    assert "cp /opt/libmemsnap.so" in _refusals.library_not_there(job, "/opt/libmemsnap.so")
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/libmemsnap.so").touch()
    assert _refusals.library_not_there(job, "/opt/libmemsnap.so") is None


@pytest.fixture
def memsnap(tmp_path):
    def run(*arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")} | {"PYTHONPATH": str(PACKAGE)}
        return subprocess.run([sys.executable, "-m", "memsnap", *map(str, arguments)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize("command, said", [(["sleep", "60"], "no Python was found"), ([sys.executable, "-c", "input()"], "no PyTorch with CUDA")])
def test_programs_that_are_no_pytorch_jobs_are_refused_in_one_line(memsnap, command, said):
    with subprocess.Popen(command, stdin=subprocess.PIPE) as job:
        time.sleep(0.5)
        done = memsnap("attach", job.pid)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1) and said in done.stderr
        assert job.poll() is None
        job.kill()


def test_a_process_id_that_is_none_is_a_matter_of_usage(memsnap):
    assert memsnap("attach", "train.py").returncode == 2
    assert memsnap("attach", "1", "--ring-mb", "many").returncode == 2


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 200, b"#!/bin/sh\n", pathlib.Path(sys.executable).resolve().read_bytes()[:3000]])
def test_a_file_that_is_no_program_or_cut_off_has_no_functions_and_does_no_harm(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    try:
        assert _symbols.read(str(path), _debugger.FUNCTIONS).symbols == {}
    except _symbols.NotElf:
        pass


def test_the_functions_of_the_running_interpreter_are_found_where_they_lie():
    import ctypes

    target = _target.look(os.getpid())

    assert target.python == sys.version_info[:2] and not target.free_threaded
    for name in _debugger.FUNCTIONS:
        assert target.addresses[name] == ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert target.addresses["mmap"] == ctypes.cast(ctypes.CDLL(None).mmap, ctypes.c_void_p).value


FAKE_TORCH = """
import ctypes, sys, types  # as torch does
torch = types.ModuleType("torch")
blocks = [{"address": 4096, "size": 512, "state": "active_allocated"}, {"address": 4608, "size": 1024, "state": "inactive"}]
old = [{"size": 256, "state": "active_awaiting_free"}, {"size": 768, "state": "active_allocated"}]
segments = [{"device": 0, "address": 4096, "total_size": 1536, "blocks": blocks}, {"device": 1, "address": 1 << 40, "total_size": 1024, "is_expandable": True, "blocks": old}]
torch.cuda = types.SimpleNamespace(is_initialized=lambda: STARTED, memory_snapshot=lambda: segments, get_allocator_backend=lambda: "native")
sys.modules["torch"] = torch
"""


@pytest.fixture(scope="module")
def stand_in_recorder(tmp_path_factory) -> str:
    library = tmp_path_factory.mktemp("attached") / "libmemsnap.so"
    source = pathlib.Path(__file__).with_name("attached_recorder.c")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


@pytest.fixture
def executed(stand_in_recorder, tmp_path):
    """executed(started, answer, library): a job with a stand-in for torch that runs the script of a handover as sys.remote_exec would; its report,
    what the recorder was told, and the job's output."""
    handovers = []

    def run(started=True, answer=0, library=stand_in_recorder):
        told = tmp_path / "told"
        job = textwrap.dedent(f"""
            STARTED = {started}
            {textwrap.indent(FAKE_TORCH, '            ').strip()}
            import os, time
            print(os.getpid(), flush=True)
            with open(input()) as file: script = file.read()
            before = set(sys.modules), set(globals())
            exec(script, {{}})
            time.sleep(1)
            print(sorted(set(sys.modules) - before[0]), sorted(set(globals()) - before[1] - {{"before"}}))
            """)
        environment = os.environ | {"TOLD": str(told), "ANSWER": str(answer)}
        with subprocess.Popen([sys.executable, "-X", "dev", "-c", job], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
            pid = int(child.stdout.readline())
            handovers.append(_handover.Handover("", pid, os.geteuid(), library, b"MEMSNAP_OUT=/x/ring.bin\0MEMSNAP_QUIET=1\0"))
            said, _ = child.communicate(handovers[-1].script() + "\n", timeout=60)
        return handovers[-1].report(), told.read_text().splitlines() if told.exists() else [], said

    yield run
    for handover in handovers:
        handover.remove()


def test_the_recorder_is_told_segments_and_live_blocks_between_begin_and_end_and_the_job_is_left_as_it_was(executed):
    report, told, said = executed()

    assert report == {"answer": "0", "told": "2", "entered": "2", "backend": "native"}
    assert told == [
        "attach MEMSNAP_OUT=/x/ring.bin;MEMSNAP_QUIET=1;", "begin",
        "0 cuda:0 4096+1536", "1 cuda:0 4096+512", f"2 cuda:1 {1 << 40}+1024", f"1 cuda:1 {(1 << 40) + 256}+768", "end",
    ]  # fmt: skip
    assert said == "[] []\n"


@pytest.mark.parametrize("how, report, said", [
    ({"started": False}, {"refused": "not_started"}, "nothing is lost"),
    ({"answer": 7 | 28 << 16}, {"answer": str(7 | 28 << 16)}, "No space left on device"),
    ({"answer": 2}, {"answer": "2"}, "memsnap arm 42"),
    ({"answer": 99}, {"answer": "99"}, "answered 99"),
])  # fmt: skip
def test_what_the_recorder_refuses_comes_back_as_a_sentence_and_nothing_else_is_told_to_it(executed, how, report, said):
    found, told, output = executed(**how)

    assert found == report and output == "[] []\n" and "begin" not in told
    with pytest.raises(_attach.Refused, match=said):
        _attach._say_refusal(found, 42)


def test_a_library_that_cannot_be_loaded_is_an_error_in_the_report_and_not_in_the_job(executed, tmp_path):
    report, _, output = executed(library=str(tmp_path / "none.so"))

    assert "none.so" in report["error"] and output == "[] []\n"


def test_a_request_that_was_taken_back_or_is_another_process_does_nothing(tmp_path):
    handover = _handover.Handover("", os.getpid() + 1, os.geteuid(), "/x.so", b"")
    try:
        exec(handover.begin_text())
        time.sleep(0.2)
        assert not handover.begun()
        assert handover.take_back() and not handover.take_back()
    finally:
        handover.remove()
    assert not os.path.exists(handover.outside)


@pytest.mark.parametrize("taken_over", [
    lambda folder: os.chmod(folder, 0o755),
    pytest.param(lambda folder: os.chown(folder, 65534, -1), marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a folder away")),
    lambda folder: (os.rename(folder, folder + "-"), os.symlink(folder + "-", folder)),
], ids=["open to others", "another user's", "a link"])  # fmt: skip
def test_a_script_that_somebody_else_put_there_is_not_run(tmp_path, taken_over):
    hit = tmp_path / "hit"
    handover = _handover.Handover("", os.getpid(), os.geteuid(), "/x.so", b"")
    try:
        pathlib.Path(handover.outside, "payload.py").write_text(f"open({str(hit)!r}, 'w').close()")
        taken_over(handover.outside)
        exec(handover.begin_text())
        time.sleep(0.2)
        assert not hit.exists()
    finally:
        shutil.rmtree(handover.outside + "-", ignore_errors=True)
        pathlib.Path(handover.outside).unlink() if os.path.islink(handover.outside) else handover.remove()


@pytest.mark.parametrize("report", [b"", b"answer 0", b"answer __import__('os').system('x')\n", b"answer " + b"(" * 5000, b"\xff\xfe\n", b"answer 'x" * 10000])
def test_a_hostile_report_is_only_text(report):
    handover = _handover.Handover("", 1, os.geteuid(), "/x.so", b"")
    try:
        pathlib.Path(handover.outside, "report").write_bytes(report)
        said = handover.report()
        assert all(isinstance(value, str) for value in said.values())
        with pytest.raises(_attach.Refused):
            _attach._say_refusal(said | {"answer": said.get("answer", "x").replace("0", "x")}, 42)
    finally:
        handover.remove()


def running(program: str) -> subprocess.Popen:
    job = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert job.stdout.readline() == "running\n"
    return job


BUSY = """
    import os
    print("running", flush=True)
    while not os.path.exists(STOP): sum(range(100))
    print("ended")
"""
JOINED = """
    import os, threading, time
    def work():
        while not os.path.exists(STOP): time.sleep(0.001)
    thread = threading.Thread(target=work); thread.start()
    print("running", flush=True)
    thread.join()
    print("ended")
"""


@NEEDS_GDB
@pytest.mark.parametrize("program, anywhere", [(BUSY, False), (JOINED, True)], ids=["by the main thread", "by whichever thread comes to it"])
def test_a_line_of_python_runs_in_a_program_that_runs_on_as_if_nothing_had_been(tmp_path, program, anywhere):
    stop, hit = tmp_path / "stop", tmp_path / "hit"
    job = running(f"    STOP = {str(stop)!r}\n{program}")
    line = f"exec(\"import os; os.path.exists({str(tmp_path)!r}) and open({str(hit)!r}, 'w').close()\", {{}})"

    _debugger.run_line(job.pid, line, _target.look(job.pid).addresses, 30, anywhere)

    deadline = time.monotonic() + 20
    while not hit.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert hit.exists() and _debugger.tracer(job.pid) == 0
    stop.touch()
    assert job.communicate(timeout=60)[0] == "ended\n" and job.returncode == 0


@NEEDS_GDB
def test_where_no_point_comes_the_request_is_taken_back_and_the_program_ends_as_it_would_have():
    job = running("import time; print('running', flush=True); time.sleep(15); print('ended')")
    target = _target.look(job.pid)

    with pytest.raises(_attach.Refused, match="it came to no point in 4 s"):
        _attach.hand_over(target, "/x.so", b"", 4.0)

    assert _debugger.tracer(job.pid) == 0
    assert job.communicate(timeout=60)[0] == "ended\n" and job.returncode == 0


def test_what_gdb_says_when_it_may_not_trace_is_passed_on_at_once(tmp_path, monkeypatch):
    (tmp_path / "gdb").write_text("#!/bin/sh\necho 'ptrace: Operation not permitted.'\n")
    (tmp_path / "gdb").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    with pytest.raises(_attach.Refused, match="it could not be reached, and is as it was: ptrace: Operation not permitted"):
        _attach.hand_over(JOB, "/x.so", b"", 3600.0)
    # The time for the job's point (an hour) is not waited for.


@NEEDS_GDB
def test_an_interrupt_that_comes_while_gdb_waits_is_the_programs_own(tmp_path):
    job = running("import time; print('running', flush=True)\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('interrupted')")
    addresses = _target.look(job.pid).addresses
    sender = subprocess.Popen(["sh", "-c", f"while ! grep -q 'TracerPid:.[1-9]' /proc/{job.pid}/status; do :; done; sleep 1.5; kill -INT {job.pid}"])

    try:
        _debugger.run_line(job.pid, "pass", addresses, 20, anywhere=True)
    except _debugger.Failed:
        pass

    sender.wait()
    assert job.communicate(timeout=60)[0] == "interrupted\n"


