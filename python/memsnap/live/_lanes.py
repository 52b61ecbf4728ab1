# SPDX-License-Identifier: Apache-2.0
"""What the terminal view shows of a job: rows, lanes, curves. The rule: the lanes of a card add up to it; numbers of different instants are put
together as the docs say (docs/live.md), and the age of the older ones is shown."""

from __future__ import annotations

import dataclasses

HISTORY_COUNT = 240
RUNNING = ("recording", "standby", "cold", "disarmed", "detached")
DORMANT = ("cold", "disarmed", "detached")


def runs(view: dict) -> bool:
    """As far as anybody can tell. A recording that was disarmed is called so whatever became of its process."""
    return view.get("state") in RUNNING and view.get("alive") is not False


@dataclasses.dataclass(frozen=True)
class Row:
    """A recording and one of its devices; `device` is None where it tells of none."""

    view: dict
    device: dict | None

    @property
    def key(self) -> tuple:
        return self.view["file"], None if self.device is None else self.device["device"]

    @property
    def pid(self) -> int | None:
        return self.view.get("pid_here") or self.view.get("pid")

    @property
    def trend(self) -> dict | None:
        return self.device["trend"] if self.device else None

    def number(self, name: str) -> int | None:
        return self.device[name] if self.device else None


@dataclasses.dataclass(frozen=True)
class Lanes:
    """Bytes of a card. `outside`: this process beside PyTorch's allocator (contexts, modules, other libraries), and where other processes are not
    told apart, they too."""

    active: int
    cached: int
    outside: int
    others: int
    free: int

    def parts(self) -> list[int]:
        return list(dataclasses.astuple(self))


def lanes_of(device: dict) -> Lanes | None:
    """None: the card was never asked. Free bytes are those that were free when it was asked, less what PyTorch has reserved since."""
    total, free = device["total_bytes"], device["free_bytes"]
    active, reserved = device["active_bytes"] or 0, device["reserved_bytes"] or 0
    if total is None or device["available_bytes"] is None:
        return None
    beside = max(0, total - free - device["reserved_then_bytes"])
    others = min(beside, device["others_bytes"] or 0)
    cached = max(0, reserved - active)
    return Lanes(active, cached, beside - others, others, max(0, total - beside - active - cached))


def rows_of(views: list[dict]) -> list[Row]:
    return [Row(view, device) for view in views for device in view.get("devices") or [None]]


_LAST = float("inf")


def _by_margin(row: Row) -> tuple:
    margin = row.number("margin_bytes")
    return (_LAST if margin is None else margin,)


def _by_full(row: Row) -> tuple:
    full = row.trend["full_in_steps"] if row.trend else None
    return (_LAST if full is None else full, *_by_margin(row))


SORTS = {
    "margin": _by_margin,
    "full in": _by_full,
    "active": lambda row: (-(row.number("active_bytes") or 0),),
    "rank": lambda row: (_LAST if row.view.get("rank") is None else row.view["rank"],),
    "pid": lambda row: (),
}


def sorted_rows(rows: list[Row], by: str) -> list[Row]:
    """Running jobs first; equal ones by process and device."""

    def key(row: Row) -> tuple:
        return (not runs(row.view), *SORTS[by](row), row.pid or 0, row.view["file"], row.number("device") or 0)

    return sorted(rows, key=key)


class History:
    """Active bytes of each device over time: the recording's own samples first, then what was seen at each look."""

    def __init__(self):
        self._values = {}

    def take(self, rows: list[Row]) -> None:
        for row in rows:
            if row.device is None or row.device["active_bytes"] is None:
                continue
            values = self._values.setdefault((row.view["ring_id"], row.device["device"]), [sample[1] for sample in row.device["history"]])
            values.append(row.device["active_bytes"])
            del values[:-HISTORY_COUNT]

    def of(self, row: Row) -> list[int]:
        return self._values.get((row.view.get("ring_id"), row.number("device")), [])
