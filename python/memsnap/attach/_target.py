# SPDX-License-Identifier: Apache-2.0
"""What is known of a process before anything is done to it: read from /proc, nothing is changed."""

from __future__ import annotations

import dataclasses
import os
import struct

from .. import _proc
from . import _debugger, _symbols

_WANTED = (*_debugger.FUNCTIONS, "Py_Version", "_Py_DecRefShared")
_C_LIBRARIES = ("libc.so.6", "libc-2.")


@dataclasses.dataclass
class Target:
    """A process. `root`: its file system as seen from here, "" where it is ours. `addresses`: of the functions that gdb calls, and mmap.
    `python`: (major, minor) or None where the interpreter does not tell."""

    pid: int
    owner: int
    inner_pid: int
    root: str
    executable: str
    paths: frozenset
    addresses: dict
    machine: int | None
    python: tuple | None
    free_threaded: bool

    def has(self, *beginnings: str) -> bool:
        """Whether a file whose name begins so is mapped."""
        return any(os.path.basename(path).startswith(beginnings) for path in self.paths)


def _is_interpreter(path: str, executable: str) -> bool:
    name = os.path.basename(path)
    return path == executable or name.startswith("libpython3.")


def _images(pid: int, root: str, mappings: list, executable: str):
    """Of the interpreter's files and the C library: name, base address, Image."""
    for mapping in mappings:
        wanted = _is_interpreter(mapping.path, executable) or os.path.basename(mapping.path).startswith(_C_LIBRARIES)
        if mapping.offset != 0 or not wanted or mapping.deleted:
            continue
        names = ("mmap",) if os.path.basename(mapping.path).startswith(_C_LIBRARIES) else _WANTED
        try:
            image = _symbols.read(root + mapping.path, names)
        except (_symbols.NotElf, OSError):
            continue
        yield mapping.begin - image.first_address, image


def _version(pid: int, address: int | None, paths: frozenset) -> tuple | None:
    """Py_Version's value (3.11 and later), else what the library's name says."""
    if address is not None:
        try:
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                memory.seek(address)
                (word,) = struct.unpack("<Q", memory.read(8))
            return word >> 24 & 0xFF, word >> 16 & 0xFF
        except (OSError, struct.error):
            pass
    for path in sorted(paths):
        _, found, rest = os.path.basename(path).rpartition("python3.")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        if found and digits:
            return 3, int(digits)
    return None


def look(pid: int) -> Target:
    """Raises OSError (PermissionError when it may not be looked at, ProcessLookupError when it is gone)."""
    executable = os.readlink(f"/proc/{pid}/exe")
    mappings = _proc.mappings(pid)
    root = _proc.root_of(pid)
    addresses, machine = {}, None
    for base, image in _images(pid, root, mappings, executable):
        machine = image.machine
        for name, value in image.symbols.items():
            addresses.setdefault(name, base + value)
    paths = frozenset(mapping.path for mapping in mappings)
    inner, owner = _proc.status_words(pid, "NSpid"), _proc.owner(pid)
    if owner is None:
        raise ProcessLookupError
    return Target(
        pid=pid,
        owner=owner,
        inner_pid=int(inner[-1]) if inner else pid,
        root=root,
        executable=executable,
        paths=paths,
        addresses=addresses,
        machine=machine,
        python=_version(pid, addresses.get("Py_Version"), paths | {executable}),
        free_threaded="_Py_DecRefShared" in addresses,
    )
