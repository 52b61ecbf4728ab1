# SPDX-License-Identifier: Apache-2.0
"""`memsnap attach` without a GPU or PyTorch: what it refuses and why, how a line of Python comes into a running interpreter, and
what is left when it is ended meanwhile (test_control_handover.py has what runs inside the job)."""

import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from memsnap.attach import _attach, _debugger, _refusals, _remote_exec, _symbols, _target

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
FULL = dict.fromkeys((*_debugger.FUNCTIONS, "mmap"), 4096)
JOB = _target.Target(
    pid=os.getpid(), owner=0, inner_pid=os.getpid(), root="", executable="/usr/bin/python3", paths=frozenset({"/torch/libc10_cuda.so", "/lib/libcuda.so.1"}),
    addresses=FULL, machine=62, python=(3, 11), free_threaded=False,
)  # fmt: skip
MACHINE = _refusals.Machine(user=1000, may_trace_all=False, ptrace_scope=0, gdb="/usr/bin/gdb", architecture=62)
MAY_TRACE = pytest.mark.skipif(_refusals.tracing(_refusals.this_machine()) is not None, reason="this machine lets this user trace nobody (kernel.yama.ptrace_scope)")
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs to act as two users")


def needs_gdb(test):
    return MAY_TRACE(pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")(test))


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
    assert _refusals.refusal(dataclasses.replace(JOB, owner=1000, python=(3, 14)), dataclasses.replace(MACHINE, gdb=None)) is None


def test_the_jobs_own_program_asks_for_its_owner_alone_and_never_for_root_or_out_of_a_container():
    job = dataclasses.replace(JOB, owner=1000, python=(3, 99), executable="/home/them/python3.99")

    assert _remote_exec.interpreter(job, 1000) == job.executable
    assert _remote_exec.interpreter(dataclasses.replace(job, python=sys.version_info[:2]), 0) == sys.executable
    for other, user in ((job, 0), (dataclasses.replace(job, root="/proc/42/root"), 1000), (dataclasses.replace(job, owner=0, root="/proc/42/root"), 0)):
        said = _refusals.refusal(other, dataclasses.replace(MACHINE, user=user))
        assert "run memsnap with Python 3.99, or as its owner" in said
        with pytest.raises(_remote_exec.Failed):
            _remote_exec.interpreter(other, user)


def test_gone_ended_and_others_processes_are_told_apart_before_they_are_looked_into():
    child = subprocess.Popen(["true"])
    while pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)

    assert "a zombie" in _refusals.before_looking(child.pid, MACHINE)
    child.wait()
    assert _refusals.before_looking(child.pid, MACHINE) == "no such process"
    other = dataclasses.replace(MACHINE, user=os.geteuid() + 1)
    assert f"user {os.geteuid()}: attach as that user, or as root" in _refusals.before_looking(os.getpid(), other)


@pytest.fixture
def library(tmp_path) -> pathlib.Path:
    """That of a container whose root is tmp_path."""
    (tmp_path / "opt").mkdir(mode=0o755)
    (tmp_path / "opt/libmemsnap.so").touch(mode=0o644)
    return tmp_path / "opt/libmemsnap.so"


def test_a_container_without_the_library_is_offered_a_copy_that_nobody_else_can_replace(tmp_path, library):
    job = dataclasses.replace(JOB, root=str(tmp_path), owner=os.geteuid())

    assert _refusals.library_not_there(job, "/opt/libmemsnap.so") is None
    library.unlink()
    assert f"install -m 0755 -o {os.geteuid()} /opt/libmemsnap.so {tmp_path}/tmp/" in _refusals.library_not_there(job, "/opt/libmemsnap.so")


def linked(path):
    path.rename(path.with_name("real.so"))
    path.symlink_to("real.so")


@pytest.mark.parametrize("spoil, said", [
    (lambda path: path.chmod(0o664), "libmemsnap.so: its mode is 0664"),
    (lambda path: path.chmod(0o646), "libmemsnap.so: its mode is 0646"),
    (lambda path: path.parent.chmod(0o777), "/opt: its mode is 0777"),
    (linked, "is a link"),
    (lambda path: (path.unlink(), path.mkdir()), "no regular file"),
    pytest.param(lambda path: os.chown(path, 65534, -1), "libmemsnap.so: user 65534 owns it", marks=NEEDS_ROOT),
    pytest.param(lambda path: os.chown(path.parent, 65534, -1), "/opt: user 65534 owns it", marks=NEEDS_ROOT),
], ids=["group", "others", "folder", "link", "folder itself", "owner", "folder's owner"])  # fmt: skip
@pytest.mark.parametrize("contained", [True, False])
def test_a_library_that_somebody_else_could_replace_is_not_loaded(tmp_path, library, spoil, said, contained):
    spoil(library)
    job = dataclasses.replace(JOB, root=str(tmp_path) if contained else "", owner=os.geteuid())

    refused = _refusals.library_not_there(job, "/opt/libmemsnap.so" if contained else str(library))
    assert said in refused and "--library" in refused


def test_a_folder_for_everybody_is_no_matter_where_nobody_removes_what_is_anothers(library):
    library.parent.chmod(0o1777)

    assert _refusals.library_not_there(dataclasses.replace(JOB, owner=os.geteuid()), str(library)) is None


@pytest.fixture
def memsnap(tmp_path):
    def run(*arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")} | {"PYTHONPATH": str(PACKAGE)}
        return subprocess.run([sys.executable, "-m", "memsnap", *map(str, arguments)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


@MAY_TRACE
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


@needs_gdb
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


@needs_gdb
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


@needs_gdb
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


@needs_gdb
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["interrupted", "terminated"])
def test_a_command_that_is_ended_leaves_no_debugger_and_no_breakpoint_in_the_job(tmp_path, number, code):
    """What `memsnap attach` runs while it waits for a thread to come by, ended from outside."""
    job = running("import time; print('running', flush=True); time.sleep(6); print('ended')")
    asks = f"""
        import signal, sys
        from memsnap import __main__, _commands
        from memsnap.attach import _attach, _debugger, _target
        _attach.examine = lambda *_: _target.look({job.pid})
        _attach._found_library = lambda *_: "/x.so"
        _attach.hand_over = lambda target, *_: _debugger.run_line(target.pid, "pass", target.addresses, 60, anywhere=True)
        sys.exit(__main__.main(["attach", "{job.pid}"]))
        """
    command = [sys.executable, "-c", textwrap.dedent(asks)]
    asking = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(PACKAGE)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while _debugger.tracer(job.pid) == 0 and asking.poll() is None:
        time.sleep(0.01)
    time.sleep(1)  # the breakpoint is set
    asking.send_signal(number)

    stdout, stderr = asking.communicate(timeout=60)
    assert (asking.returncode, stdout, stderr) == (code, "", "")
    assert _debugger.tracer(job.pid) == 0
    assert job.communicate(timeout=60)[0] == "ended\n" and job.returncode == 0


def test_an_interrupted_wait_takes_the_request_back_and_says_so_only_when_it_had_begun(monkeypatch, capsys):
    def interrupted(target, handover, deadline):
        if begun:
            os.rename(f"{handover.inside}/waiting", f"{handover.inside}/begun")
        made.append(handover.inside)
        raise KeyboardInterrupt

    monkeypatch.setattr(_attach, "_begin", interrupted)
    made = []
    for begun in (False, True):
        with pytest.raises(KeyboardInterrupt):
            _attach.hand_over(dataclasses.replace(JOB, owner=os.geteuid()), "/x.so", b"", 5.0)
        assert not os.path.exists(made[-1]) and ("it had begun" in capsys.readouterr().err) == begun


def test_a_folder_that_is_gone_is_said_and_a_text_of_the_job_moves_no_cursor(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_attach._run, "settings", dict)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(_attach.Refused, match="--out"):
        _attach.settings({}, JOB)
    assert _attach.settings({"MEMSNAP_OUT": "/x/ring.bin"}, JOB) == b"MEMSNAP_OUT=/x/ring.bin\0"

    monkeypatch.setattr(_attach, "examine", lambda *_: (_ for _ in ()).throw(_attach.Refused("\x1b[2Jgone\nand more")))
    code = _attach.run(_attach.argparse.Namespace(pid=42))
    assert code == 1 and "\x1b" not in (said := capsys.readouterr().err) and said.count("\n") == 1
