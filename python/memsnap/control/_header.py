# SPDX-License-Identifier: Apache-2.0
"""The few words of a recording's header that these commands read, and the two that they write: the only place in Python that knows where
they lie (interpose/WIRE.md, section 2). Everything else in a recording is read through memsnap-replay. The rule: only a regular file of
the one owner who may be asked, with one name, is opened, and no link is followed, so nothing else can be written through us."""

from __future__ import annotations

import dataclasses
import errno
import mmap
import os
import stat
import struct

HEADER_BYTES = 768
_MAGIC, _NAMES_MAGIC = b"\x89MEMSNAP", b"\x89MEMNAME"
_VERSION_MAJOR, _BYTE_ORDER = 1, 0x01020304
_ARM_REQUEST, _ARM_UNTIL_NS, _ARM_ANSWER = 384, 392, 400

RECORD, COLD, STANDBY, DETACH, DISARM = 1, 2, 3, 4, 5  # wishes
DONE, REFUSED = 1, 2  # answers
IN_STATE_RECORDING, IN_STATE_COLD, IN_STATE_STANDBY = 0, 1, 2
PRELOADED, INJECTED, ATTACHED, DETACHED = 0, 1, 2, 3  # channels

# Header.field -> offset and struct format. The names are those of WIRE.md.
_FIELDS = {
    "pid": (240, "I"), "rank": (252, "i"), "process_start_ticks": (264, "Q"), "pid_namespace": (272, "Q"), "start_mode": (312, "I"),
    "arm_state": (316, "I"), "channel": (368, "I"), "superseded": (372, "I"), "host_key": (376, "Q"),
    "arm_request": (_ARM_REQUEST, "Q"), "arm_until_ns": (_ARM_UNTIL_NS, "Q"), "arm_answer": (_ARM_ANSWER, "Q"), "armed_from": (408, "Q"),
    "disarmed_at": (416, "Q"), "arm_errno": (440, "I"), "head": (512, "Q"), "lost": (576, "Q"), "lapped": (584, "Q"), "table_full": (616, "Q"),
    "exit_mark": (712, "Q"), "exit_status": (720, "i"), "failure_count": (732, "I"),
}  # fmt: skip


class Unusable(Exception):
    """A file that cannot be used as a recording; the text says why, and the way out where there is one."""


@dataclasses.dataclass(frozen=True)
class Header:
    """One look at a header. Words that are written while recording may be of slightly different moments."""

    pid: int
    rank: int
    process_start_ticks: int
    pid_namespace: int
    start_mode: int
    arm_state: int
    channel: int
    superseded: int
    host_key: int
    arm_request: int
    arm_until_ns: int
    arm_answer: int
    armed_from: int
    disarmed_at: int
    arm_errno: int
    head: int
    lost: int
    lapped: int
    table_full: int
    exit_mark: int
    exit_status: int
    failure_count: int

    @property
    def lost_count(self) -> int:
        """Events and births that could not be kept."""
        return self.lost + self.lapped + self.table_full


def _parse(data: bytes) -> Header:
    if data[:8] == _NAMES_MAGIC:
        raise Unusable("it holds the names of a recording: name the recording itself")
    if data[:8] != _MAGIC:
        raise Unusable("not a recording of memsnap")
    if len(data) < HEADER_BYTES:
        raise Unusable("its header is cut off")
    major, minor = struct.unpack_from("<HH", data, 8)
    (byte_order,) = struct.unpack_from("<I", data, 12)
    if major != _VERSION_MAJOR or byte_order != _BYTE_ORDER:
        raise Unusable(f"a recording of format {major}.{minor}; this memsnap knows {_VERSION_MAJOR}")
    return Header(**{name: struct.unpack_from(f"<{form}", data, offset)[0] for name, (offset, form) in _FIELDS.items()})


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a symbolic link: name the file itself"
    return error.strerror


class Recording:
    """An open recording. `for_asking` opens it for writing, and then it must belong to `owner` (a user id)."""

    def __init__(self, path: str, for_asking: bool = False, owner: int | None = None):
        """Raises Unusable."""
        self.path = path
        flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        try:
            self._file = os.open(path, flags | (os.O_RDWR if for_asking else os.O_RDONLY))
        except OSError as error:
            raise Unusable(_why(error)) from None
        try:
            self._check(for_asking, owner)
            self.header = self.look()
        except BaseException:
            self.close()
            raise

    def _check(self, for_asking: bool, owner: int | None) -> None:
        facts = os.fstat(self._file)
        if not stat.S_ISREG(facts.st_mode):
            raise Unusable("not a regular file")
        self.size_bytes, self.owner = facts.st_size, facts.st_uid
        if not for_asking:
            return
        if owner is not None and facts.st_uid != owner:
            raise Unusable(f"it belongs to user {facts.st_uid}, not to user {owner}: ask as its owner")
        if facts.st_nlink == 0:
            raise Unusable("it was deleted: its process goes on writing to it, and nobody can read it")
        if facts.st_nlink != 1:
            raise Unusable(f"it has {facts.st_nlink} names (hard links): remove the others")
        if facts.st_size < mmap.PAGESIZE:
            raise Unusable("its header is cut off")

    def look(self) -> Header:
        """The header as it is now. Raises Unusable."""
        try:
            return _parse(os.pread(self._file, HEADER_BYTES, 0))
        except OSError as error:
            raise Unusable(_why(error)) from None

    def ask(self, wish: int, until_ns: int) -> int:
        """Asks for a wish, until a CLOCK_MONOTONIC time (0: for good), and returns the request's serial. The request is one aligned store of
        8 bytes, after that of the time, so that its reader never sees half of either."""
        header = self.look()
        serial = (max(header.arm_request >> 8, header.arm_answer >> 8) + 1) % (1 << 56) or 1
        with mmap.mmap(self._file, mmap.PAGESIZE) as page, memoryview(page) as data, data.cast("Q") as words:
            words[_ARM_UNTIL_NS // 8] = until_ns
            words[_ARM_REQUEST // 8] = serial << 8 | wish
        return serial

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
