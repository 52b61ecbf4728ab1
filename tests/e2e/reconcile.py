# SPDX-License-Identifier: Apache-2.0
"""The free memory that the ledgers predict against what the driver answered, at every observation of a recording, from the event ledger alone.

Rule: while others and contexts keep what they have, total − free − held − own outside bytes changes by two amounts only, which the driver alone knows
(VERDICT.md §3). The simulated device rounds to whole granules, so *rounding* is exact here; *pool slack*, what a pool keeps beyond its live
pointers, has only a bound: it grew by whole granules for what was live at most.
"""

import collections
import csv
import dataclasses
from collections.abc import Iterable, Iterator

GRANULE_BYTES = 2 * 1024 * 1024
BIRTHS_AND_DEATHS = {"ok", "free", "free_fail"}


@dataclasses.dataclass
class Driver:
    """What the driver of one device adds to the bytes that were asked for."""

    rounding_bytes: int = 0
    from_pools_bytes: int = 0
    granules_from_pools_bytes: int = 0
    most_granules_from_pools_bytes: int = 0

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


def rows_of_interest(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    lines = iter(lines)
    header = next(lines)
    kinds = BIRTHS_AND_DEATHS | {"mem_info"}
    return csv.DictReader([header, *(line for line in lines if line.split(",", 2)[1] in kinds)])


def observations(lines: Iterable[str]) -> list[Observation]:
    """Every successful answer of cudaMemGetInfo in a ledger."""
    drivers, entered, found = collections.defaultdict(Driver), {}, []
    for row in rows_of_interest(lines):
        if row["device"] == "" or row["nested"] == "1" or row["capturing"] == "1":
            continue
        driver = drivers[int(row["device"])]
        if row["kind"] == "ok" and row["object"]:
            entered[row["allocation"]] = row["object"], int(row["size_bytes"])
            driver.enter(*entered[row["allocation"]], +1)
        elif row["kind"] in ("free", "free_fail") and row["allocation"] in entered:
            driver.enter(*entered[row["allocation"]], -1 if row["kind"] == "free" else +1)
        elif row["kind"] == "mem_info" and row["device_free_bytes"]:
            seen = sum(int(row[column]) for column in ("device_free_bytes", "held_bytes", "own_outside_bytes"))
            most = int(row["device_total_bytes"]) - seen - driver.rounding_bytes
            found.append(Observation(int(row["ticket"]), int(row["device"]), most - driver.slack_bytes(), most))
    return found


def mismatches(lines: Iterable[str]) -> list[str]:
    """Each observation that does not fit the one before it on its device."""
    before, found = {}, []
    for now in observations(lines):
        last = before.get(now.device)
        if last and max(last.least_bytes, now.least_bytes) > min(last.most_bytes, now.most_bytes):
            found.append(f"cuda:{now.device} ticket {now.ticket}: others and contexts {now.least_bytes}..{now.most_bytes}, "
                         f"at ticket {last.ticket} {last.least_bytes}..{last.most_bytes}")
        before[now.device] = now
    return found
