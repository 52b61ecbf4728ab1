# SPDX-License-Identifier: Apache-2.0
"""Whether the process of a recording lives, and which it is here: by process id, start time and pid namespace, never by the id alone. What
cannot be seen from here is unknown, and is not called dead."""

from __future__ import annotations

import dataclasses
import functools

from .. import _proc

_FIRST_PID_NAMESPACE = 0xEFFFFFFC  # its inode on every Linux: whoever is in it sees all processes


@dataclasses.dataclass(frozen=True)
class Life:
    """`pid` is the process's number here, None when it is gone or not to be seen; `unseen` says why it is not known to be gone."""

    pid: int | None
    unseen: str = ""

    @property
    def gone(self) -> bool:
        return self.pid is None and not self.unseen


@functools.lru_cache(maxsize=None)
def _here(namespace_inode: int) -> dict:
    """Of a pid namespace below ours, the processes as they are numbered in it: to their numbers here."""
    pids = [pid for pid in _proc.all_pids() if _proc.namespace(pid, "pid") == namespace_inode]
    return {int(words[-1]): pid for pid in pids if (words := _proc.status_words(pid, "NSpid"))}


@functools.lru_cache(maxsize=None)
def host_key() -> int:
    """This running kernel, as headers name it: FNV-1a, 64 bits, of its boot id; 0: not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            text = file.read()
    except OSError:
        return 0
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


def of(header) -> Life:
    """The life of the process that a header names."""
    if header.host_key and host_key() and header.host_key != host_key():
        return Life(None, "its process is on another host, or was before this one started anew")
    own = _proc.namespace("self", "pid")
    pid = header.pid if header.pid_namespace == own else _here(header.pid_namespace).get(header.pid)
    if pid is not None and _proc.start_ticks(pid) == header.process_start_ticks:
        return Life(pid)
    if header.pid_namespace != own and own != _FIRST_PID_NAMESPACE:
        return Life(None, "its process is in another container, which cannot be seen from here")
    return Life(None)
