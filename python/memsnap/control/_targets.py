# SPDX-License-Identifier: Apache-2.0
"""What TARGET names: a process id, a recording, a folder of recordings or a pattern. A process leads to the recording that it writes now; a
recording that its process has left for a newer one leads there too. Folders and patterns pass over what is no recording of a running process."""

from __future__ import annotations

import dataclasses
import glob
import os

from .. import _proc, _running
from . import _header, _life


@dataclasses.dataclass(frozen=True)
class Found:
    """A recording to act on: `path` opens it, `shown` is its name as its process has it; `pid` is None where the process cannot be seen."""

    path: str
    shown: str
    pid: int | None


@dataclasses.dataclass
class Resolved:
    found: list = dataclasses.field(default_factory=list)  # Found, each recording once
    faults: list = dataclasses.field(default_factory=list)  # (target, why not and the way out)
    ended_count: int = 0  # recordings of ended processes, passed over in folders and patterns


def current(pid: int) -> Found | None:
    """The recording that a process writes to now; one that records before one that it is about to leave."""
    open_ones = []
    for mapped in _running.find([pid]):
        if mapped.deleted:
            continue
        try:
            with _header.Recording(mapped.path) as recording:
                if not recording.header.superseded:
                    open_ones.append((recording.header.arm_state, Found(mapped.path, mapped.shown, pid)))
        except _header.Unusable:
            continue
    return min(open_ones, key=lambda one: one[0] != _header.IN_STATE_RECORDING)[1] if open_ones else None


def library_of(pid: int) -> str | None:
    """The recorder's file that a process has mapped; None without one, or when it may not be looked at."""
    try:
        paths = {mapping.path for mapping in _proc.mappings(pid)}
    except OSError:
        return None
    return next((path for path in paths if os.path.basename(path).startswith("libmemsnap") and ".so" in path), None)


def why_nothing(pid: int) -> str:
    """Why a process has no recording that could be asked."""
    if _proc.start_ticks(pid) is None:
        return "no such process"
    owner = _proc.owner(pid)
    if os.geteuid() not in (0, owner):
        return f"a process of user {owner}: ask as that user, or as root"
    if any(mapped.deleted for mapped in _running.find([pid])):
        return "its recording was deleted: it records into a file without a name, which nobody can read"
    if library_of(pid):
        return "the recorder is in it, and it has not used a GPU yet, or its recording could not be created: ask again later"
    return f"the recorder is not in it: memsnap attach {pid}, or start it under memsnap run"


def _of_pid(text: str, resolved: Resolved) -> None:
    found = current(int(text))
    if found:
        resolved.found.append(found)
    else:
        resolved.faults.append((f"pid {text}", why_nothing(int(text))))


def _of_file(path: str, named: bool, resolved: Resolved, deaf_too: bool) -> None:
    """`named`: by the user, not by a pattern or folder. `deaf_too`: also recordings that nobody writes to."""
    try:
        with _header.Recording(path) as recording:
            header = recording.header
    except _header.Unusable as unusable:
        if named:
            resolved.faults.append((path, str(unusable)))
        return
    life = _life.of(header)
    over = header.exit_mark != 0 or life.gone
    newer = current(life.pid) if header.superseded and life.pid and not deaf_too else None
    if newer:
        resolved.found.append(newer)
    elif deaf_too or not over:
        resolved.found.append(Found(path, path, life.pid))
    elif named:
        resolved.faults.append((path, "its process has ended"))
    else:
        resolved.ended_count += 1


def _of_folder(path: str, resolved: Resolved, deaf_too: bool) -> None:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        resolved.faults.append((path, f"cannot be read: {error.strerror}"))
        return
    for name in names:
        _of_file(os.path.join(path, name), False, resolved, deaf_too)


def resolve(targets: list, deaf_too: bool = False) -> Resolved:
    """What the targets name, in their order. `deaf_too`: recordings of ended processes count as found."""
    resolved = Resolved()
    for text in targets:
        if text.isascii() and text.isdigit():
            _of_pid(text, resolved)
        elif os.path.isdir(text):
            _of_folder(text, resolved, deaf_too)
        elif os.path.lexists(text):
            _of_file(text, True, resolved, deaf_too)
        else:
            before = len(resolved.found) + resolved.ended_count
            for path in sorted(glob.glob(text, recursive=True)):
                _of_file(path, False, resolved, deaf_too)
            if len(resolved.found) + resolved.ended_count == before:
                resolved.faults.append((text, "no such recording"))
    unique = {os.path.realpath(found.path): found for found in resolved.found}
    resolved.found = list(unique.values())
    return resolved
