# SPDX-License-Identifier: Apache-2.0
"""Why a process cannot be attached to, and the way out; found before anything is done to it. Pure functions of what is known of the process and
of this machine, in the order in which a person can do something about it."""

from __future__ import annotations

import dataclasses
import os
import platform
import stat

from .. import _proc
from . import _debugger, _remote_exec, _symbols
from ._target import Target

_CAP_SYS_PTRACE = 1 << 19
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
_REMOTE_EXEC = (3, 14)  # the Python that has sys.remote_exec


@dataclasses.dataclass(frozen=True)
class Machine:
    """What this process may do: `ptrace_scope` as Yama has it, 0 without Yama; `may_trace_all`: it has CAP_SYS_PTRACE."""

    user: int
    may_trace_all: bool
    ptrace_scope: int
    gdb: str | None
    architecture: int | None


def _ptrace_scope() -> int:
    try:
        with open(_YAMA, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def this_machine() -> Machine:
    capabilities = _proc.status_words("self", "CapEff")
    may_all = bool(capabilities) and bool(int(capabilities[0], 16) & _CAP_SYS_PTRACE)
    return Machine(os.geteuid(), may_all, _ptrace_scope(), _debugger.find_gdb(), _symbols.MACHINES.get(platform.machine()))


def before_looking(pid: int, machine: Machine) -> str | None:
    """What is known without looking into the process."""
    words = _proc.status_words(pid, "State")
    if not words:
        return "no such process"
    if words[0] in ("Z", "X"):
        return "it has ended (a zombie, that its parent has not fetched yet)"
    owner = _proc.owner(pid)
    if machine.user not in (0, owner):
        return f"it is a process of user {owner}: attach as that user, or as root"
    tracer = _debugger.tracer(pid)
    if tracer:
        return f"process {tracer} is tracing it already (a debugger, strace): end that first"
    if words[0] in ("T", "t"):
        return "it is stopped: let it run on first (kill -CONT)"
    return None


def may_not_look(machine: Machine) -> str:
    """/proc of the process does not open."""
    return tracing(machine) or "it may not be looked into (it gave up being dumped, or is in a user namespace of its own): attach as root, or preload the recorder at the next start"


def tracing(machine: Machine) -> str | None:
    """Why this user can trace no process here, and the way out."""
    if machine.may_trace_all or machine.ptrace_scope == 0:
        return None
    if machine.ptrace_scope == 1:
        return (
            "this machine lets nobody trace processes that are not children of the tracer (kernel.yama.ptrace_scope is 1): attach with sudo, or in a "
            "container with the capability SYS_PTRACE, or let root write 0 to it for a while"
        )
    if machine.ptrace_scope == 2:
        return "this machine lets root alone trace processes (kernel.yama.ptrace_scope is 2): attach with sudo, or in a container with the capability SYS_PTRACE"
    return "this machine lets nobody trace processes until it is started anew (kernel.yama.ptrace_scope is 3): preload the recorder at the next start of the job (memsnap run)"


def _program(target: Target, machine: Machine) -> str | None:
    if target.machine is not None and machine.architecture is not None and target.machine != machine.architecture:
        return "it is a program for another processor (32 bits, or emulated): preload the recorder at its next start"
    if not any(name in target.addresses for name in _debugger.FUNCTIONS):
        return "no Python was found in it (not a Python program, or one whose interpreter shows no functions, as frozen and static ones do): preload the recorder at its next start"
    lacking = [name for name in (*_debugger.FUNCTIONS, "mmap") if name not in target.addresses]
    if lacking:
        return f"its Python or C library does not show {', '.join(lacking)} (a static or musl build): preload the recorder at its next start"
    if target.free_threaded:
        return "its Python is a free-threaded build, which attach does not know to stop safely: preload the recorder at its next start"
    if not target.has("libc10_cuda.so"):
        return "no PyTorch with CUDA is loaded in it: attach when it has imported torch, or start it under memsnap run"
    if not target.has("libcuda.so"):
        return "it has not started CUDA yet, so nothing is lost: attach when it uses the GPU, or start it under memsnap run"
    return None


def _channel(target: Target, machine: Machine) -> str | None:
    if uses_remote_exec(target):
        try:
            _remote_exec.interpreter(target, machine.user)
        except _remote_exec.Failed as failed:
            return str(failed)
        return None
    if machine.gdb:
        return None
    return "gdb is not installed here, and its Python is older than 3.14: install gdb (apt install gdb)"


def uses_remote_exec(target: Target) -> bool:
    return target.python is not None and target.python >= _REMOTE_EXEC


def refusal(target: Target, machine: Machine) -> str | None:
    """Why this process cannot be attached to; None when nothing is known to be in the way."""
    return tracing(machine) or _program(target, machine) or _channel(target, machine)


def _replaceable(facts: os.stat_result, owner: int) -> str | None:
    """Who but root and the job's user can change a file or what is in a folder."""
    if facts.st_uid not in (0, owner):
        return f"user {facts.st_uid} owns it"
    sticky = stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX
    return f"its mode is {stat.S_IMODE(facts.st_mode):04o}" if facts.st_mode & 0o022 and not sticky else None


def library_not_there(target: Target, library: str) -> str | None:
    """The job must see the recorder under the same name as we, and nobody may be able to replace it but those who can do anything to the job."""
    seen = target.root + library
    folder = os.path.dirname(seen)
    if not os.path.isabs(library):
        return f"{library} is no whole path: name the library's file with --library"
    try:
        file, place = os.lstat(seen), os.stat(folder)
    except OSError:
        return (
            f"{'it is in a container, which' if target.root else 'it'} does not see {library}: copy the library there "
            f"(install -m 0755 -o {target.owner} {library} {target.root}/tmp/) and name it as the job sees it: --library /tmp/libmemsnap.so"
        )
    if not stat.S_ISREG(file.st_mode):
        return f"{library} is a link, or no regular file: name the library's file itself with --library"
    for path, facts in ((library, file), (os.path.dirname(library), place)):
        why = _replaceable(facts, target.owner)
        if why:
            return (
                f"others could replace the library ({path}: {why}): copy it to a folder that root or user {target.owner} alone can write to "
                f"(install -m 0755 -o {target.owner} {library} FOLDER/) and name the copy with --library"
            )
    return None
