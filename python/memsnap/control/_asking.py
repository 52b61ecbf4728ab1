# SPDX-License-Identifier: Apache-2.0
"""Asks many processes at once and waits for what each of them answers. All are asked first, then watched: hundreds take as long as one."""

from __future__ import annotations

import dataclasses
import errno
import os
import time

from .. import _proc
from . import _header, _life, _targets

_LOOK_AGAIN_S = 0.1

_REFUSALS = {
    errno.ENOSPC: "the disk has no room for the recording: free some, or start the job with a smaller MEMSNAP_RING_MB",
    errno.EDQUOT: "the disk quota or the budget (MEMSNAP_DISK_MB) has no room for the recording: free some, or start the job with a smaller MEMSNAP_RING_MB",
    errno.EFBIG: "the limit on file sizes (ulimit -f) is below the recording's size: raise it for the job",
    errno.ENOTSUP: "it cannot get there from the state it is in: see memsnap status",
    errno.ETIMEDOUT: "the time to record was over before the process looked: ask for longer",
    errno.EBUSY: "recording has ended; some slots could not be given back; ask again",
    errno.EINVAL: "its recorder does not know this request: it is of another version",
}


@dataclasses.dataclass(frozen=True)
class Answer:
    """What became of a request: `done`, or why not and the way out. `found` is the recording that counts from now on."""

    found: _targets.Found
    done: bool
    why_not: str = ""


def _refusal(code: int) -> str:
    return _REFUSALS.get(code) or (f"the recorder refused: {os.strerror(code)}" if code else "the recorder refused")


def _owner_to_be(found: _targets.Found) -> int:
    """Whose a recording must be to be asked: ours; when we are root, that of its process."""
    if os.geteuid() == 0 and found.pid is not None:
        owner = _proc.owner(found.pid)
        return 0 if owner is None else owner
    return os.geteuid()


class _Request:
    def __init__(self, found: _targets.Found, wish: int, until_ns: int, why_not):
        """Raises Unusable."""
        self.found = found
        self.recording = _header.Recording(found.path, for_asking=True, owner=_owner_to_be(found))
        try:
            reason = why_not(self.recording.header)
            if reason:
                raise _header.Unusable(reason)
            self.serial = self.recording.ask(wish, until_ns)
        except BaseException:
            self.recording.close()
            raise

    def answer(self) -> Answer | None:
        """None: not yet."""
        header = self.recording.look()
        if header.arm_answer >> 8 == self.serial:
            if header.arm_answer & 0xFF == _header.DONE:
                return Answer(self._current(), True)
            return Answer(self.found, False, _refusal(header.arm_errno))
        if header.arm_request >> 8 != self.serial:
            return Answer(self.found, False, "somebody else asked for something at the same time: see memsnap status")
        if header.exit_mark or _life.of(header).gone:
            return Answer(self.found, False, "its process ended before it answered")
        return None

    def _current(self) -> _targets.Found:
        """Armed anew after a time without any records, a process goes on in a new recording."""
        return self.found if not self.found.pid else _targets.current(self.found.pid) or self.found

    def silence(self, wait_s: float) -> Answer:
        if self.found.pid is None:
            return Answer(self.found, False, f"asked, and no answer in {wait_s:g} s: its process cannot be seen from here; it answers when it lives and shares this file")
        return Answer(self.found, False, f"asked, and no answer in {wait_s:g} s: the job may be stopped; it answers when it runs on (memsnap status)")


def _watched(requests: list, wait_s: float):
    """Each request with its answer, as they come."""
    deadline = time.monotonic() + wait_s
    waiting = list(requests)
    while waiting:
        late = time.monotonic() >= deadline
        still = []
        for request in waiting:
            try:
                answer = request.answer()
            except _header.Unusable as unusable:
                answer = Answer(request.found, False, str(unusable))
            if answer is None and late:
                answer = request.silence(wait_s)
            if answer is None:
                still.append(request)
            else:
                yield request, answer
        waiting = still
        if waiting:
            time.sleep(_LOOK_AGAIN_S)


def ask(found: list, wish: int, until_ns: int, wait_s: float, why_not) -> list:
    """An Answer for each Found, in their order. What `why_not` says of a header is an answer without asking."""
    requests, answers = [], {}
    try:
        for one in found:
            try:
                requests.append(_Request(one, wish, until_ns, why_not))
            except _header.Unusable as unusable:
                answers[one] = Answer(one, False, str(unusable))
        for request, answer in _watched(requests, wait_s):
            answers[request.found] = answer
    finally:
        for request in requests:
            request.recording.close()
    return [answers[one] for one in found]
