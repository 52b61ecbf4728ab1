# SPDX-License-Identifier: Apache-2.0
"""`memsnap status`: which jobs of this machine record, and in which state they are. Reads only."""

from __future__ import annotations

import argparse
import json
import sys
import time

from .. import _running
from . import _command, _header, _life, _targets

_COLUMNS = ("PID", "RANK", "STATE", "SIZE", "FAILURES", "LOST", "FILE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TARGET", nargs="*", help=f"{_command.TARGETS_HELP}; without one, all jobs of this user on this machine")
    parser.add_argument("--json", action="store_true", help="as a list of JSON objects (docs/arming.md)")


def state_of(header: _header.Header, life: _life.Life) -> str:
    """One word; docs/arming.md lists them."""
    if header.exit_mark:
        return "ended"
    if header.superseded:
        return "superseded"
    if header.arm_state == _header.IN_STATE_COLD and header.disarmed_at:  # it is complete, whatever became of its process
        return "detached" if header.channel == _header.DETACHED else "disarmed"
    if life.gone:
        return "killed"
    if header.arm_state != _header.IN_STATE_RECORDING:
        return "cold" if header.arm_state == _header.IN_STATE_COLD else "standby"
    return "armed" if header.arm_until_ns else "recording"


def _until(header: _header.Header, state: str, life: _life.Life) -> float | None:
    """Seconds since 1970 at which it disarms itself: of a process that is known to live, on whose clock the time was given."""
    if state != "armed" or life.pid is None:
        return None
    return time.time() + (header.arm_until_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) / 1e9


def _described(found: _targets.Found) -> dict:
    """Of one recording, what status says. Raises Unusable."""
    with _header.Recording(found.path) as recording:
        header, size_bytes = recording.header, recording.size_bytes
    life = _life.of(header)
    state = state_of(header, life)
    until = _until(header, state, life)
    return {
        "pid": life.pid if life.pid is not None else header.pid,
        "rank": header.rank if header.rank >= 0 else None,
        "state": state,
        "armed_until": None if until is None else int(until),
        "alive": None if life.unseen else life.pid is not None,
        "unseen_because": life.unseen or None,
        "late": bool(header.start_mode),
        "file": found.shown,
        "size_bytes": size_bytes,
        "event_count": header.head,
        "failure_count": header.failure_count,
        "lost_count": header.lost_count,
        "exit_status": header.exit_status if header.exit_mark else None,
    }


def _running_here() -> tuple:
    """The current recordings of this user's processes, and how many more have the recorder without one."""
    found, without = [], 0
    with_recording = {}
    for mapped in _running.find():
        with_recording.setdefault(mapped.pid, []).append(mapped)
    for pid in _running.processes():
        if pid in with_recording:
            current = _targets.current(pid)
            found += [current] if current else []
        elif _targets.library_of(pid):
            without += 1
    return found, without


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB" if size_bytes >= 2**20 else f"{size_bytes / 2**10:.0f} KiB"


def _state_text(row: dict) -> str:
    if row["armed_until"] is not None:
        return time.strftime("armed until %H:%M:%S", time.localtime(row["armed_until"]))
    if row["state"] == "ended":
        return f"ended ({row['exit_status']})"
    if row["alive"] is None:
        return f"{row['state']}?"
    return row["state"] if row["alive"] or row["state"] == "killed" else f"{row['state']}, gone"


def _print_table(rows: list) -> None:
    cells = [_COLUMNS]
    for row in rows:
        rank = "-" if row["rank"] is None else str(row["rank"])
        cells.append((str(row["pid"]), rank, _state_text(row), _size(row["size_bytes"]), str(row["failure_count"]), str(row["lost_count"]), _command.shown(row["file"])))
    widths = [max(len(line[column]) for line in cells) for column in range(len(_COLUMNS) - 1)]
    for line in cells:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]))
    for reason in sorted({row["unseen_because"] for row in rows if row["alive"] is None}):
        print(f"?: {reason}; the state is the last one written")


def run(options: argparse.Namespace) -> int:
    faults, without = [], 0
    if options.targets:
        resolved = _targets.resolve(options.targets, deaf_too=True)
        found, faults = resolved.found, resolved.faults
    else:
        found, without = _running_here()
    rows = []
    for one in found:
        try:
            rows.append(_described(one))
        except _header.Unusable as unusable:
            faults.append((one.shown, str(unusable)))
    if options.json:
        print(json.dumps(rows, indent=1))
    elif rows:
        _print_table(rows)
    sys.stdout.flush()
    if without:
        print(f"{without} more with the recorder in them that have not used a GPU", file=sys.stderr)
    for target, why in faults:
        print(f"{_command.shown(target)}: {why}", file=sys.stderr)
    if not rows:
        if not faults:
            print("no recording of a running process here", file=sys.stderr)
        return _command.NOTHING_FOUND
    return _command.SOME_NOT if faults else _command.DONE
