# SPDX-License-Identifier: Apache-2.0
"""What /proc tells of a process. Reads only; a process that is gone or may not be looked at is told as None, nothing, or an OSError."""

from __future__ import annotations

import dataclasses
import os


def start_ticks(pid: int) -> int | None:
    """Field 22 of /proc/<pid>/stat; None when there is no such process, or only what is left of it (a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def status_words(pid: int, name: str) -> list:
    """The words behind `name` in /proc/<pid>/status; none when there is no such process or line."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next((line.split()[1:] for line in file if line.startswith(f"{name}:")), [])
    except OSError:
        return []


def owner(pid: int) -> int | None:
    """The user who a process runs as (its effective id)."""
    words = status_words(pid, "Uid")
    return int(words[1]) if words else None


def namespace(pid, kind: str) -> int | None:
    """The inode of a namespace of a process; None when it may not be looked at."""
    try:
        return os.stat(f"/proc/{pid}/ns/{kind}").st_ino
    except OSError:
        return None


@dataclasses.dataclass(frozen=True)
class Mapping:
    """A line of /proc/<pid>/maps that has a file; `path` as the process names it, `deleted` when that name is gone."""

    begin: int
    access: str
    offset: int
    path: str
    deleted: bool


def _read_mappings(pid: int, access: str) -> set:
    found = set()
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            if access not in line:
                continue
            words = line.rstrip("\n").split(None, 5)
            if len(words) == 6 and words[5].startswith("/") and access in words[1]:
                path = words[5].replace("\\012", "\n")
                gone = path.endswith(" (deleted)")
                found.add(Mapping(int(words[0].partition("-")[0], 16), words[1], int(words[2], 16), path.removesuffix(" (deleted)"), gone))
    return found


def mappings(pid: int, access: str = "") -> list:
    """The files that a process has mapped (with such access: "rw-s"), by address. A process that maps and unmaps meanwhile can hide lines from one reading, so it is read
    until two readings add nothing. Raises OSError."""
    found, new = set(), _read_mappings(pid, access)
    for _ in range(5):
        if new <= found:
            break
        found |= new
        new = _read_mappings(pid, access)
    return sorted(found | new, key=lambda mapping: mapping.begin)


def all_pids() -> list:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())


def root_of(pid: int) -> str:
    """What leads from our file system to that of a process; empty where they are one. Raises OSError."""
    root = f"/proc/{pid}/root"
    ours, theirs = os.stat("/"), os.stat(f"{root}/")
    same = (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino) and os.stat("/proc/self/ns/mnt").st_ino == os.stat(f"/proc/{pid}/ns/mnt").st_ino
    return "" if same else root
