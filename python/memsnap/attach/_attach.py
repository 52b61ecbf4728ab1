# SPDX-License-Identifier: Apache-2.0
"""`memsnap attach`: looks whether it can be done, hands the work over, waits for the report, and says what is recorded."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from .. import _proc, _run, _tools
from ..control import _header, _targets
from ..control._command import duration_s, shown
from . import _debugger, _handover, _refusals, _remote_exec, _target

DONE, REFUSED = 0, 1  # exit codes; 2 is usage

_LEFT_OUT = ("--tap",)  # of the options of `memsnap run`: the tap is attached before the first tensor
_MAIN_THREAD_S = 2.0  # before the second way is tried
_LOOK_AGAIN_S = 0.02

_ANSWERS = {
    1: "it is attached and recording already: memsnap status {pid}",
    2: "it was started with the recorder: memsnap arm {pid}",
    3: "its environment switches the recorder off (MEMSNAP_DISABLE), or it has more rights than who started it",
    4: "it has not started CUDA yet, so nothing is lost: attach when it uses the GPU, or start it under memsnap run",
    5: "it has not started CUDA yet, so nothing is lost: attach when it uses the GPU, or start it under memsnap run",
    6: "the recorder does not understand the settings: is it of another version?",
    7: "the recording could not be made: {error} (--out names another place)",
    8: "another attach is under way: try again",
    10: "some calls of an earlier attach could not be put back: it goes on unrecorded",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pid", metavar="PID", type=int, help="the process")
    _run.add_settings(parser, _LEFT_OUT)
    parser.add_argument("--timeout", metavar="TIME", type=duration_s, default=30.0, help="how long to wait for the job to come to a point where it can be done (30s)")
    parser.add_argument("--library", metavar="FILE", help="the recorder, as the job sees it (MEMSNAP_LIBRARY)")


def settings(options: argparse.Namespace, target: _target.Target) -> bytes:
    """What the recorder is told, NAME=value and a zero byte each. The recording is made in this folder unless named; in the job's own where the
    job has another file system. Raises Refused."""
    told = _run.settings(options)
    out = told.get("MEMSNAP_OUT", "ring-%p.bin")
    if not os.path.isabs(out):
        try:
            folder = os.readlink(f"/proc/{target.pid}/cwd").removesuffix(" (deleted)") if target.root else os.getcwd()
        except OSError:
            raise Refused("the folder that the recording was to be in is gone: name its whole path with --out") from None
        out = os.path.join(folder, out)
    told["MEMSNAP_OUT"] = out
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in told.items())


class Refused(Exception):
    """It was not done, and the job is as it was; the text says why, and the way out."""


def _came_with_the_recorder(pid: int) -> bool:
    """By the variables that it was started with; an attach that was refused leaves the library in a process, too."""
    with open(f"/proc/{pid}/environ", "rb") as file:
        variables = file.read().split(b"\0")
    return any(text.startswith((b"LD_PRELOAD=", b"CUDA_INJECTION64_PATH=")) and b"libmemsnap" in text for text in variables)


def _recorded_already(pid: int) -> str | None:
    """Raises OSError, Unusable."""
    found = _targets.current(pid)
    if found is None:
        return _targets.why_nothing(pid) if _targets.library_of(pid) and _came_with_the_recorder(pid) else None
    with _header.Recording(found.path) as recording:
        header = recording.header
    if header.channel == _header.DETACHED:
        return None
    if header.arm_state == _header.IN_STATE_RECORDING:
        return f"it is recorded already: {found.path}"
    return f"the recorder is in it, dormant: memsnap arm {pid}"


def examine(pid: int, machine: _refusals.Machine) -> _target.Target:
    """The process, when nothing is in the way. Raises Refused."""
    why_not = _refusals.before_looking(pid, machine)
    if why_not:
        raise Refused(why_not)
    try:
        target = _target.look(pid)
        why_not = _recorded_already(pid) or _refusals.refusal(target, machine)
    except ProcessLookupError:
        raise Refused("it ended meanwhile") from None
    except OSError:
        raise Refused(_refusals.may_not_look(machine)) from None
    except _header.Unusable as unusable:
        raise Refused(f"its recording cannot be read: {unusable}") from None
    if why_not:
        raise Refused(why_not)
    return target


def _wait(handover: _handover.Handover, pid: int, deadline: float, until_begun: bool = False) -> dict | None:
    """The report; None when the time is over (or, with `until_begun`, when the work has begun)."""
    while time.monotonic() < deadline:
        report = handover.report()
        if report is not None or (until_begun and handover.begun()):
            return report
        if _proc.start_ticks(pid) is None:
            raise Refused("it ended meanwhile")
        time.sleep(_LOOK_AGAIN_S)
    return None


def _begin(target: _target.Target, handover: _handover.Handover, deadline: float) -> None:
    """Has the work begin, by whichever way there is. Raises the ways' Failed."""
    if _refusals.uses_remote_exec(target):
        _remote_exec.run_script(target.pid, handover.script(), _remote_exec.interpreter(target, os.geteuid()), deadline - time.monotonic())
        return
    line = handover.begin_text()
    _debugger.run_line(target.pid, line, target.addresses, deadline - time.monotonic(), anywhere=False)
    _wait(handover, target.pid, min(deadline, time.monotonic() + _MAIN_THREAD_S), until_begun=True)
    if not handover.begun():
        _debugger.run_line(target.pid, line, target.addresses, deadline - time.monotonic(), anywhere=True)


def hand_over(target: _target.Target, library: str, told: bytes, timeout_s: float) -> dict:
    """The job's report. Raises Refused."""
    deadline = time.monotonic() + timeout_s
    try:
        handover = _handover.Handover(target.root, target.inner_pid, target.owner, library, told)
    except _handover.NoPlace:
        raise Refused("no folder that both it and this command can write to (/tmp, /var/tmp, /dev/shm, /run)") from None
    try:
        failed = None
        try:
            _begin(target, handover, deadline)
        except _debugger.NoPoint:
            pass
        except (_debugger.Failed, _remote_exec.Failed, OSError) as error:
            failed = f"it could not be reached, and is as it was: {error}"
        report = None if failed else _wait(handover, target.pid, deadline, until_begun=True)
        if report is None and handover.take_back():
            raise Refused(failed or f"it came to no point in {timeout_s:g} s where this can be done, and is as it was: try again, with a longer --timeout")
        # Begun, it comes to an end.
        report = report or _wait(handover, target.pid, time.monotonic() + timeout_s)
        if report is None:
            raise Refused("it began and has not reported: see memsnap status")
        return report
    except (KeyboardInterrupt, SystemExit):
        if not handover.take_back():
            print(f"memsnap attach: {target.pid}: it had begun when this was interrupted: see memsnap status {target.pid}", file=sys.stderr)
        raise
    finally:
        handover.remove()


def _say_refusal(report: dict, pid: int) -> None:
    """Raises Refused when the report is not one of success."""
    if "error" in report:
        raise Refused(f"it could not be done inside the job: {report['error']}")
    answer = report.get("answer", "")
    word = int(answer) if answer.isdecimal() and int(answer) < 1 << 32 else -1
    if report.get("refused") == "not_started":
        word = 4
    if word != 0:
        text = _ANSWERS.get(word & 0xFFFF, f"the recorder answered {word & 0xFFFF}")
        raise Refused(text.format(pid=pid, error=os.strerror(word >> 16) if word > 0 else ""))


def _found_library(options: argparse.Namespace, target: _target.Target) -> str:
    """Links of our own file system are followed here and not by the job. Raises Refused."""
    library = options.library if options.library and target.root else None
    try:
        library = library or os.path.realpath(_tools.find(_tools.RECORDER, options.library))
    except _tools.Missing as missing:
        raise Refused(f"{missing} (or --library)") from None
    why_not = _refusals.library_not_there(target, library)
    if why_not:
        raise Refused(why_not)
    return library


def _what_was_there(report: dict) -> str:
    """The texts are the job's own."""
    if "initial_error" in report:
        but = f", but for {report['entered']} blocks" if report.get("entered", "0") != "0" else ""
        return f"what was there before is unknown{but}: {report['initial_error']}"
    entered, told = report.get("entered", "?"), report.get("told", "?")
    return f"{entered} of the {told} blocks that were there before are known by their size alone: births and sites are known from now on"


def _leave(number: int, _frame) -> None:
    raise SystemExit(128 + number)


def run(options: argparse.Namespace) -> int:
    pid = options.pid
    for number in (signal.SIGTERM, signal.SIGHUP):  # as an interrupt: nothing is left in the job
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    try:
        target = examine(pid, _refusals.this_machine())
        report = hand_over(target, _found_library(options, target), settings(options, target), options.timeout)
        _say_refusal(report, pid)
    except Refused as refused:
        print(f"memsnap attach: {pid}: {shown(str(refused))}", file=sys.stderr)
        return REFUSED
    found = _targets.current(pid)
    recording = shown(found.path) if found else "its recording"
    print(f"attached  pid {pid}  {recording}")
    print(f"  {shown(_what_was_there(report))}")
    if report.get("backend", "native") != "native":
        print(f"  torch's allocator is {shown(report['backend'])}, which tells no blocks")
    print(f"  read it   memsnap-replay {recording}")
    print(f"  end it    memsnap detach {pid}")
    return DONE
