# SPDX-License-Identifier: Apache-2.0
"""The free memory that the ledgers predict against what the driver answered, at every observation of a recording, from the event ledger alone.

Rule: while others and contexts keep what they have, total − free − held − own outside bytes changes by two amounts only, which the driver alone knows
(VERDICT.md §3). The simulated device rounds to whole granules, so *rounding* is exact here; *pool slack*, what a pool keeps beyond its live
pointers, has only a bound: it grew by whole granules for what was live at most. Where something went that was there before the recording, and
before the allocator first reports after a late start, nobody knows what is held: such answers are compared with none.
"""

import collections
import csv
import dataclasses
from collections.abc import Iterable, Iterator

GRANULE_BYTES = 2 * 1024 * 1024
BIRTHS_AND_DEATHS = {"ok", "free", "free_fail"}
REPORTS = {"block_alloc", "block_free", "block_oom", "initial", "initial_segment"}


@dataclasses.dataclass
class Driver:
    """What the driver of one device adds to the bytes that were asked for."""

    rounding_bytes: int = 0
    from_pools_bytes: int = 0
    granules_from_pools_bytes: int = 0
    most_granules_from_pools_bytes: int = 0
    held_is_known: bool = True
    unknown_free_count: int = 0

    def enter(self, kind: str, size_bytes: int, sign: int) -> None:
        rounding_bytes = -size_bytes % GRANULE_BYTES
        if kind == "async":
            self.from_pools_bytes += sign * size_bytes
            self.granules_from_pools_bytes += sign * (size_bytes + rounding_bytes)
            self.most_granules_from_pools_bytes = max(self.most_granules_from_pools_bytes, self.granules_from_pools_bytes)
        elif kind in ("device", "array"):
            self.rounding_bytes += sign * rounding_bytes

    def slack_bytes(self) -> int:
        return self.most_granules_from_pools_bytes - self.from_pools_bytes


@dataclasses.dataclass
class Observation:
    """One answer of the driver; what others and contexts held then lies between the two bounds."""

    ticket: int
    device: int
    least_bytes: int
    most_bytes: int
    unknown_free_count: int  # before it


def rows_of_interest(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    lines = iter(lines)
    header = next(lines)
    kinds = BIRTHS_AND_DEATHS | REPORTS | {"mem_info"}
    return csv.DictReader([header, *(line for line in lines if line.split(",", 2)[1] in kinds)])


def is_unknown_free(row: dict[str, str]) -> bool:
    host = row["op"] in ("cudaFreeHost", "cudaHostUnregister", "cuMemFreeHost", "cuMemHostUnregister")
    return row["kind"] == "free" and row["allocation"] == "" and not host


def observations(lines: Iterable[str], late: bool) -> list[Observation]:
    """Those successful answers of cudaMemGetInfo in a ledger at which it is known what the process holds."""
    drivers, entered, found = collections.defaultdict(lambda: Driver(held_is_known=not late)), {}, []
    for row in rows_of_interest(lines):
        if row["nested"] == "1" or row["capturing"] == "1":
            continue
        if is_unknown_free(row):
            for device in range(32):
                drivers[device].held_is_known = False
                drivers[device].unknown_free_count += 1
        if row["device"] == "":
            continue
        driver = drivers[int(row["device"])]
        if row["kind"] in REPORTS and row["reserved_bytes"]:
            driver.held_is_known = True
        if row["kind"] == "ok" and row["object"]:
            entered[row["allocation"]] = row["object"], int(row["size_bytes"])
            driver.enter(*entered[row["allocation"]], +1)
        elif row["kind"] in ("free", "free_fail") and row["allocation"] in entered:
            driver.enter(*entered[row["allocation"]], -1 if row["kind"] == "free" else +1)
        elif row["kind"] == "mem_info" and row["device_free_bytes"] and driver.held_is_known:
            seen = sum(int(row[column]) for column in ("device_free_bytes", "held_bytes", "own_outside_bytes"))
            most = int(row["device_total_bytes"]) - seen - driver.rounding_bytes
            found.append(Observation(int(row["ticket"]), int(row["device"]), most - driver.slack_bytes(), most, driver.unknown_free_count))
    return found


def mismatches(lines: Iterable[str], late: bool) -> list[str]:
    """Each observation that does not fit the one before it on its device; `late`: recording began in a running process."""
    before, found = {}, []
    for now in observations(lines, late):
        last = before.get(now.device)
        if last and last.unknown_free_count == now.unknown_free_count and max(last.least_bytes, now.least_bytes) > min(last.most_bytes, now.most_bytes):
            found.append(f"cuda:{now.device} ticket {now.ticket}: others and contexts {now.least_bytes}..{now.most_bytes}, "
                         f"at ticket {last.ticket} {last.least_bytes}..{last.most_bytes}")
        before[now.device] = now
    return found
