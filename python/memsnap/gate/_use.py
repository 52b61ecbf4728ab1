# SPDX-License-Identifier: Apache-2.0
"""What a stretch of this process took of each GPU: by the recording where the process has one, else by PyTorch's own counters. The rule:
measuring changes nothing that the program can see, but for PyTorch's peak counters in the second case."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

from .. import _native, _tools
from ..control import _header, _targets

_NAME_BYTES = 255  # the recorder keeps no more


@dataclasses.dataclass(frozen=True)
class Site:
    label: str
    bytes: int
    block_count: int


@dataclasses.dataclass(frozen=True)
class Use:
    """Of one device, in bytes: allocated when the stretch began, the most on top of that, and what of it was left at the end."""

    device: int
    begin_bytes: int
    added_bytes: int
    left_bytes: int
    at_peak: tuple[Site, ...] = ()  # of what was added
    left: tuple[Site, ...] = ()


class NotMeasured(Exception):
    """What the stretch took cannot be told, and why."""


def _sites(rows: list) -> tuple[Site, ...]:
    return tuple(Site(row["label"] or row["token"] or "without a stack", int(row["bytes"]), int(row["block_count"])) for row in rows)


def _recording() -> str | None:
    """The file that this process records into. Raises NotMeasured where it is dormant."""
    found = _targets.current(os.getpid())
    if found is None:
        return None
    try:
        with _header.Recording(found.path) as recording:
            state = recording.header.arm_state
    except _header.Unusable as unusable:
        raise NotMeasured(f"its recording {found.shown} cannot be read: {unusable}") from None
    if state != _header.IN_STATE_RECORDING:
        raise NotMeasured(f"its recording {found.shown} is dormant: memsnap arm {os.getpid()}, or leave MEMSNAP_ARM out")
    return found.path


def _cuda():
    """torch.cuda where this process uses a GPU by it; None where it does not."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None


def _why_no_recording() -> str:
    if os.environ.get("MEMSNAP_DISABLE") == "1":
        return "MEMSNAP_DISABLE is 1"
    return _targets.why_nothing(os.getpid())


def _last_range(path: str) -> dict | None:
    command = [_tools.find(_tools.REPLAY), "ranges", path, "--with-names", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotMeasured(done.stderr.strip() or f"memsnap-replay ended with {done.returncode}")
    return json.loads(done.stdout)["last"]


class Recorded:
    """By the recorder: a range of the program, and what memsnap-replay says of it."""

    def __init__(self, name: str):
        """Raises NotMeasured and _tools.Missing, and has no range open then."""
        path = _recording()
        last = None if path is None else _last_range(path)
        self._closed_before = last and last["range"]["end_ticket"]
        text = name.encode("utf-8", "replace")[-_NAME_BYTES:]
        self._range = _native.begin(_native.RANGE, text, len(text), 0)

    def close(self) -> None:
        """Without an answer."""
        _native.end(self._range)

    def end(self) -> list[Use]:
        """Raises NotMeasured and _tools.Missing."""
        self.close()
        path = _recording()
        if path is None:
            if _cuda() is not None:
                raise NotMeasured(f"it has no recording: {_why_no_recording()}")
            return []  # a process that does not use a GPU has no recording
        last = _last_range(path)
        if last is None or last["range"]["end_ticket"] == self._closed_before:
            raise NotMeasured(f"its range is not in {path} any more: a larger MEMSNAP_RING_MB keeps it")
        sites = {row["device"]: row for row in last["sites"]}
        return [
            Use(
                row["device"],
                int(row["begin_bytes"]),
                int(row["added_bytes"]),
                int(row["left_bytes"]),
                _sites(sites[row["device"]]["at_peak"]),
                _sites(sites[row["device"]]["left"]),
            )
            for row in last["range"]["devices"]
        ]


class Counted:
    """By PyTorch: its allocator's peak since the stretch began, without sites."""

    def __init__(self):
        self._begin = {}
        for device in self._devices():
            self._begin[device] = _cuda().memory_allocated(device)
            _cuda().reset_peak_memory_stats(device)

    @staticmethod
    def _devices() -> range:
        return range(_cuda().device_count()) if _cuda() is not None else range(0)

    def close(self) -> None:
        """Nothing is open."""

    def end(self) -> list[Use]:
        uses = []
        for device in self._devices():
            begin = self._begin.get(device, 0)
            peak, now = _cuda().max_memory_allocated(device), _cuda().memory_allocated(device)
            uses.append(Use(device, begin, max(0, peak - begin), max(0, now - begin)))
        return uses
