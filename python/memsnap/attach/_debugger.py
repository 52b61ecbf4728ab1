# SPDX-License-Identifier: Apache-2.0
"""Lets a line of Python run in a process, with gdb. It needs no symbols of its own and calls nothing that takes a lock of an allocator or of
the linker: a page is mapped, the line is written there, and the interpreter is asked to run it between two instructions of its main thread
(Py_AddPendingCall, which is made to be called from anywhere). Then gdb leaves; nobody is traced while the line runs. Where the main thread
does not come to an instruction (it waits for another thread), the second way is a stop at a thread's entry to PyEval_SaveThread, a point at
which that thread has the interpreter and is inside nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile

from .. import _proc

FUNCTIONS = ("Py_AddPendingCall", "PyRun_SimpleString", "PyEval_SaveThread")
_PAGE_BYTES = 65536
# No library's symbols are read, for which the process would wait, and nothing is asked of the network.
_QUIET = (
    "set sysroot /nonexistent", "set auto-solib-add off", "set libthread-db-search-path /nonexistent",
    "set debuginfod enabled off", "set auto-load off", "set confirm off", "set pagination off",
)  # fmt: skip
_INTERRUPTED = 9  # gdb's exit code when it was not the point that it stopped at
_LEAVE_S = 10  # for gdb to end after it was asked to


class Failed(Exception):
    """gdb could not do it; the text says what it said."""


class NoPoint(Failed):
    """The time was over before gdb came to its end."""


def find_gdb() -> str | None:
    return shutil.which("gdb")


def _put_text(mmap_address: int, text_path: str) -> list:
    return [
        f"set $page = ((unsigned long (*)(unsigned long, unsigned long, int, int, int, long)) {mmap_address})(0, {_PAGE_BYTES}, 3, 34, -1, 0)",
        "if $page + 4096 < 8192\n  quit 3\nend",
        f'eval "restore {text_path} binary %lu", $page',
    ]


def _queue(addresses: dict, text_path: str) -> list:
    call = f"((int (*)(unsigned long, unsigned long)) {addresses['Py_AddPendingCall']})({addresses['PyRun_SimpleString']}, $page)"
    return [*_put_text(addresses["mmap"], text_path), f"set $queued = {call}", "detach", "if $queued != 0\n  quit 4\nend"]


def _at_point(addresses: dict, text_path: str) -> list:
    point, run = addresses["PyEval_SaveThread"], addresses["PyRun_SimpleString"]
    do = [*_put_text(addresses["mmap"], text_path), f"set $ran = ((int (*)(unsigned long)) {run})($page)"]
    return [
        "handle all nostop noprint pass",
        "handle SIGINT stop print nopass",  # how gdb itself is asked to stop waiting; one that the job was sent is sent again
        f"tbreak *{point}",
        "continue",
        "\n".join([f"set $ran = {_INTERRUPTED}", f"if $pc == {point}", *do, "end"]),
        "detach",
        f"if $ran == {_INTERRUPTED}\n  quit {_INTERRUPTED}\nend",
        "if $ran != 0\n  quit 5\nend",
    ]


def _stop(gdb: subprocess.Popen) -> str:
    """Has gdb stop what it does and leave the process; what it said. It is waited for: one that stays would hold the process."""
    gdb.send_signal(signal.SIGINT)  # it goes on to detach
    try:
        return gdb.communicate(timeout=_LEAVE_S)[0]
    except BaseException as error:
        gdb.terminate()
        said, _ = gdb.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return said


def _run(pid: int, commands: list, timeout_s: float) -> None:
    with tempfile.NamedTemporaryFile("w", prefix="memsnap-gdb-", suffix=".gdb") as script:
        script.write("set unwindonsignal on\n" + "\n".join(commands) + "\n")
        script.flush()
        quiet = [part for setting in _QUIET for part in ("-iex", setting)]
        command = [find_gdb() or "gdb", "-batch", "-nx", *quiet, "-p", str(pid), "-x", script.name]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as gdb:
            asked = False
            try:
                said, _ = gdb.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                asked = True
                said = _stop(gdb)
            except BaseException:  # an interrupt: gdb has a session of its own and has not heard of it
                _stop(gdb)
                raise
        if gdb.returncode == _INTERRUPTED and not asked:
            os.kill(pid, signal.SIGINT)
        if gdb.returncode != 0 or "detached" not in said:
            raise (NoPoint if asked else Failed)(" ".join(said.split())[-400:] or f"gdb ended with {gdb.returncode}")


def run_line(pid: int, line: str, addresses: dict, timeout_s: float, anywhere: bool) -> None:
    """Has the interpreter run a line soon, on its main thread; with `anywhere`, now, on the thread that first comes to a point that is safe.
    `addresses`: of FUNCTIONS and mmap in the process. Returns when gdb has left. Raises Failed."""
    with tempfile.NamedTemporaryFile("wb", prefix="memsnap-line-") as text:
        text.write(line.encode() + b"\0")
        text.flush()
        commands = (_at_point if anywhere else _queue)(addresses, text.name)
        _run(pid, commands, timeout_s)


def tracer(pid: int) -> int:
    """Who traces a process already; 0: nobody."""
    words = _proc.status_words(pid, "TracerPid")
    return int(words[0]) if words else 0
