# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine that write a recording: those of this user, or of everybody for root, that have one mapped. The rule: /proc alone is
read, no process is asked for anything, and what may not be looked at is passed over."""

from __future__ import annotations

import dataclasses
import os
import stat

from . import _proc

MAGIC = b"\x89MEMSNAP"  # at the start of a recording (interpose/WIRE.md)

_NO_FILES = ("/dev/", "/memfd:", "/SYSV", "/anon_hugepage")  # opening a device can wake it
_SHARED_MEMORY = "/dev/shm/"


@dataclasses.dataclass(frozen=True)
class Mapped:
    """A recording that a process has mapped. A process has several when it was armed again."""

    pid: int  # as this process sees it
    path: str  # opens it; of a process with another root directory through /proc/<pid>/root
    shown: str  # as its process names it
    deleted: bool  # nobody but the process has it any more; `path` opens nothing


def _is_recording(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and os.pread(descriptor, len(MAGIC), 0) == MAGIC
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _of_process(pid: int) -> list[Mapped]:
    found, root = [], None
    for path, deleted in dict.fromkeys((mapping.path, mapping.deleted) for mapping in _proc.mappings(pid, "rw-s")):
        if path.startswith(_NO_FILES) and not path.startswith(_SHARED_MEMORY):
            continue
        root = _proc.root_of(pid) if root is None else root
        if deleted:
            if path.endswith(".bin"):  # what is in it cannot be looked at
                found.append(Mapped(pid, root + path, path, True))
        elif _is_recording(root + path):
            found.append(Mapped(pid, root + path, path, False))
    return found


def processes() -> list[int]:
    """The ids of the processes of this user; for root of all."""
    user = os.geteuid()
    return [pid for pid in _proc.all_pids() if user == 0 or _proc.owner(pid) == user]


def find(pids: list[int] | None = None) -> list[Mapped]:
    """The recordings that processes have mapped, by process; of all that may be looked at, or of some."""
    found = []
    for pid in processes() if pids is None else pids:
        try:
            found += _of_process(pid)
        except OSError:
            continue
    return found
