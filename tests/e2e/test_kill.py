# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random instants: the file opens, and at most one record a thread is missing.

A witness in shared memory counts, thread by thread, the operations that had returned from the hooked call (native/witness_page.h).
"""

import dataclasses
import mmap
import os
import pathlib
import random
import signal
import struct
import subprocess
import time

import pytest

import ring_file
from ring_file import KIND, OP

PAGE_BYTES = 64 + 64 * 64


@dataclasses.dataclass
class Count:
    """Complete operations of one thread: block reports, device allocations, device frees."""

    tid: int
    reports: int
    last_size_bytes: int
    allocations: int
    frees: int


class Witness:
    """The page of native/witness_page.h, mapped by the test and by the job."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        path.write_bytes(bytes(PAGE_BYTES))
        with path.open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), PAGE_BYTES)

    def word(self, offset: int) -> int:
        return struct.unpack_from("<Q", self.page, offset)[0]

    @property
    def pid(self) -> int:
        return self.word(0)

    def counts(self) -> list[Count]:
        threads = (struct.unpack_from("<5Q", self.page, 64 + 64 * i) for i in range(64))
        return [Count(*words) for words in threads if words[0]]

    @property
    def reports(self) -> int:
        return sum(count.reports for count in self.counts())


def kill_when(job: subprocess.Popen, witness: Witness, ready, delay_s: float) -> None:
    """Kills the witnessed process `delay_s` after ready() holds, and waits for the launcher."""
    deadline = time.monotonic() + 60
    while not (witness.pid and ready()):
        assert job.poll() is None and time.monotonic() < deadline, "the job did not get to work"
        time.sleep(0.0002)
    time.sleep(delay_s)
    os.kill(witness.pid, signal.SIGKILL)
    assert job.wait(timeout=60) in (-signal.SIGKILL, 128 + signal.SIGKILL)


def recorded(ring: pathlib.Path) -> dict[int, dict[str, int]]:
    """Records by thread id and operation."""
    found, tids = ring_file.records(ring), ring_file.thread_ids(ring)
    is_report = (found["kind"] == KIND["block_alloc"]) | (found["kind"] == KIND["block_free"])
    is_allocation = (found["kind"] == KIND["ok"]) & (found["op"] == OP["cudaMalloc"])
    is_free = (found["kind"] == KIND["free"]) & (found["op"] == OP["cudaFree"])
    return {
        tids[index]: {
            "reports": int((is_report & (found["thread"] == index)).sum()),
            "allocations": int((is_allocation & (found["thread"] == index)).sum()),
            "frees": int((is_free & (found["thread"] == index)).sum()),
        }
        for index in set(found["thread"].tolist())
    }


def start_busy(bench, native, witness: Witness, thread_count: int, ring_mb: int) -> subprocess.Popen:
    command = bench.command(native / "busy", witness.path, thread_count)
    return subprocess.Popen(command, cwd=bench.folder, env=bench.environment(MEMSNAP_RING_MB=str(ring_mb)), stderr=subprocess.DEVNULL)


def check_opens(bench, ring: pathlib.Path) -> None:
    check = bench.replay("check", ring)
    assert check.code == 0 and " 0 torn" in check.stdout, check.stdout + check.stderr


@pytest.mark.parametrize("seed", range(4))
def test_no_completed_operation_is_missing_and_at_most_one_a_thread_is_in_flight(bench, native, seed):
    """40 kills in the ring's first lap, from the job's first instruction on, where every operation can be counted."""
    rng = random.Random(seed)
    witnessed_kills = 0
    for _ in range(40):
        witness = Witness(bench.folder / "witness")
        job = start_busy(bench, native, witness, thread_count=rng.randrange(1, 6), ring_mb=32)
        enough_reports = rng.choice([0, rng.randrange(20_000)])
        kill_when(job, witness, lambda: witness.reports >= enough_reports, rng.random() * 0.02)
        counts = witness.counts()
        if not bench.rings():
            assert sum(count.allocations for count in counts) == 0
            continue

        (ring,) = bench.rings()
        check_opens(bench, ring)
        assert ring_file.head(ring) <= ring_file.areas(ring)["ring"].entry_count, "lapped: nothing can be counted"
        found = recorded(ring)
        for count in counts:
            of_thread = found.get(count.tid, {"reports": 0, "allocations": 0, "frees": 0})
            in_flight = {name: of_thread[name] - getattr(count, name) for name in of_thread}
            assert min(in_flight.values()) >= 0 and sum(in_flight.values()) <= 1, (count, of_thread)
        witnessed_kills += witness.reports > 0
        ring.unlink()
    assert witnessed_kills >= 10


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_that_went_round_opens_after_a_kill_and_ends_with_the_last_completed_report(bench, native, seed):
    """30 kills after several laps, with blocks older than the ring and freed by other threads than their own."""
    rng = random.Random(100 + seed)
    for _ in range(30):
        witness = Witness(bench.folder / "witness")
        job = start_busy(bench, native, witness, thread_count=4, ring_mb=1)
        kill_when(job, witness, lambda: witness.reports > 40_000, rng.random() * 0.02)

        (ring,) = bench.rings()
        check_opens(bench, ring)
        capacity = ring_file.areas(ring)["ring"].entry_count
        assert ring_file.head(ring) > 2 * capacity
        found, tids = ring_file.records(ring), ring_file.thread_ids(ring)
        assert len(found) >= capacity - 4, "more than one record a thread is missing"
        reports = found[(found["kind"] == KIND["block_alloc"]) | (found["kind"] == KIND["block_free"])]
        for count in filter(lambda count: count.reports, witness.counts()):
            sizes = [abs(int(size)) for size in reports["size"][reports["thread"] == tids.index(count.tid)][-2:]]
            assert not sizes or count.last_size_bytes in sizes, (count, sizes)
        ring.unlink()


def test_a_real_training_job_that_is_killed_leaves_every_report_it_completed(bench, native):
    """8 kills of a PyTorch job with a main and an autograd thread; a second preload library is the witness."""
    rng = random.Random(1)
    for _ in range(8):
        witness = Witness(bench.folder / "witness")
        environment = bench.environment(MEMSNAP_RING_MB="8", MEMSNAP_TEST_WITNESS=str(witness.path), LD_PRELOAD=str(native / "libwitness.so"))
        job = subprocess.Popen(bench.command("train_forever.py"), cwd=bench.folder, env=environment, stderr=subprocess.DEVNULL)
        kill_when(job, witness, lambda: witness.reports > 500, rng.random() * 0.3)

        (ring,) = bench.rings()
        check_opens(bench, ring)
        found = recorded(ring)
        assert len(witness.counts()) >= 2
        for count in witness.counts():
            assert 0 <= found[count.tid]["reports"] - count.reports <= 1, (count, found)
        ring.unlink()
