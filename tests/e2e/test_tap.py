# SPDX-License-Identifier: Apache-2.0
"""The torch tap on real PyTorch: what it tells is what PyTorch itself says of requests, streams, pools and deferred frees (programs/tapped.py)."""

import collections
import json
import os
import pathlib
import struct
import subprocess
import sys

import pytest

import ring_file
from ring_file import KIND

TAP_STATE_OFFSET = 364
ATTACHED, MISSING, REFUSED, OFF = 1, 2, 3, 4
NOT_KNOWN = 2**64 - 1
POOL_UNKNOWN = 65535
PENDING = {"SIMCUDA_PENDING_EVENTS": "1"}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
ALLOCATORS = pytest.mark.parametrize("allocator", [{}, EXPANDABLE], ids=["native", "expandable"])
TWO_CARDS = ("--total", "8GiB", "--devices", "2")


def command_line(*arguments, **environment) -> subprocess.CompletedProcess:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")}
    return subprocess.run([sys.executable, "-m", "memsnap", *arguments], env=inherited | environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, str]:
    """The environment in which the tap for this PyTorch is there."""
    environment = {"MEMSNAP_TAP_DIR": str(tmp_path_factory.mktemp("cache") / "taps")}
    done = command_line("tap", "build", **environment)
    assert done.returncode == 0, done.stderr
    return environment


def tap_state(ring: pathlib.Path) -> int:
    with ring.open("rb") as file:
        file.seek(TAP_STATE_OFFSET)
        return struct.unpack("<I", file.read(4))[0]


def number_of(pool: list[int]) -> int:
    first, second = pool
    return first if second == 0 and first < 32768 else 32768 + second if first == 0 and second < 32767 else POOL_UNKNOWN


def joined(ranges) -> list[list]:
    """Ranges [device, address, bytes, stream, pool, expandable] by address; contiguous ones of an expandable segment as one."""
    found = []
    for device, address, size, *of in sorted(map(list, ranges)):
        last = found[-1] if found else None
        if last and last[0] == device and last[1] + last[2] == address and last[3:] == of and of[-1]:
            last[2] += size
        else:
            found.append([device, address, size, *of])
    return found


class Told:
    """What the tap's records of a ring say, from its first record on. A second reader: nothing of memsnap-replay's."""

    def __init__(self, ring: pathlib.Path):
        self.live, self.deferred, self.segments = {}, {}, {}
        self.failures = []  # (record, the segments told again before it)
        again = []
        for one in ring_file.records(ring):
            kind, where = int(one["kind"]), (int(one["device"]), int(one["address"]))
            size, stream, pool = int(one["size"]), int(one["extra"]), int(one["extra16"])
            if kind == KIND["tap_alloc"]:
                self.live[where] = (size, stream, pool)
            elif kind == KIND["tap_free_requested"]:
                self.deferred[where] = self.live.pop(where, None)
            elif kind == KIND["tap_free_completed"]:
                self.deferred.pop(where, None)
            elif kind in (KIND["tap_segment_alloc"], KIND["tap_segment_map"]):
                expandable = kind == KIND["tap_segment_map"]
                if one["code"] == 1:
                    again.append([*where, size, stream, pool, expandable])
                else:
                    self.segments[where] = (size, stream, pool, expandable)
            elif kind in (KIND["tap_segment_free"], KIND["tap_segment_unmap"]):
                self.take_away(*where, size)
            elif kind == KIND["tap_oom"]:
                self.failures.append((one, again))
                again = []

    def take_away(self, device: int, address: int, size: int) -> None:
        for (at_device, at), (bytes_there, *of) in list(self.segments.items()):
            if at_device == device and at < address + size and address < at + bytes_there:
                del self.segments[device, at]
                if at < address:
                    self.segments[device, at] = (address - at, *of)
                if at + bytes_there > address + size:
                    self.segments[device, address + size] = (at + bytes_there - address - size, *of)

    def requested_bytes(self, device: int) -> int:
        """Of all that PyTorch counts so: blocks in use and those whose free is deferred."""
        return sum(size for blocks in (self.live, self.deferred) for (at_device, _), (size, *_) in blocks.items() if at_device == device)


def true_segments(truth: dict) -> list[list]:
    return joined([*of, number_of(pool), expandable] for *of, pool, expandable in truth["segments"])


def true_blocks(truth: dict, state: str) -> dict:
    return {(device, address): (requested, stream, number_of(pool)) for device, address, requested, stream, pool, has in truth["blocks"] if has == state}


@ALLOCATORS
def test_at_every_instant_requests_streams_pools_and_deferred_frees_are_pytorchs_own(bench, built, allocator):
    job = bench.run("tapped.py", "everything", simcuda=TWO_CARDS, **built, **PENDING, **allocator)
    assert job.code == 0, job.stderr
    instants = sorted(bench.folder.glob("instant-*.json"))
    assert len(instants) == 7

    deferred_bytes, pools, streams = {}, set(), set()
    for instant in instants:
        truth, told = json.loads(instant.read_text()), Told(instant.with_suffix(".bin"))
        assert told.live == true_blocks(truth, "active_allocated"), instant.stem
        assert told.deferred == true_blocks(truth, "active_pending_free"), instant.stem
        assert joined([*where, *of] for where, of in told.segments.items()) == true_segments(truth), instant.stem
        assert [told.requested_bytes(device) for device in (0, 1)] == truth["requested"], instant.stem
        deferred_bytes[instant.stem[len("instant-00-"):]] = truth["deferred"]
        pools |= {pool for _, _, pool in told.live.values()}
        streams |= {stream for _, stream, _ in told.live.values()}
    assert deferred_bytes["deferred"][0] > 30 * 2**20 and deferred_bytes["completed"] == [0, 0]
    assert len([pool for pool in pools if 0 < pool < 32768]) == 1  # the graph's
    assert len([pool for pool in pools if 32768 < pool < POOL_UNKNOWN]) == 1 and len(pools) == 3 and len(streams) >= 2


def free_extents(evidence: dict, truth: dict) -> dict:
    """(address, bytes): compatibility with the request. Receipts number segments by address."""
    begins = [address for _, address, *_ in true_segments(truth)]
    rows = [dict(zip(evidence["extents"]["columns"], row)) for row in evidence["extents"]["rows"]]
    return {(begins[row["segment"]] + row["offset_bytes"], row["size_bytes"]): row["compatibility"] for row in rows if row["state"] == "free"}


def at_failure(bench) -> dict:
    return json.loads((bench.folder / "at-failure.json").read_text())


@ALLOCATORS
def test_a_failure_tells_the_requested_bytes_and_again_each_segment_however_old(bench, built, allocator):
    job = bench.run("tapped.py", "lapped", MEMSNAP_RING_MB="1", **built, **allocator)
    assert job.code == 0, job.stderr
    told, truth = Told(job.ring), at_failure(bench)

    assert ring_file.head(job.ring) > 4 * ring_file.areas(job.ring)["ring"].entry_count
    ((failure, again),) = told.failures
    assert int(failure["address"]) == truth["requested"][0]
    assert joined(again) == true_segments(truth) and len({stream for *_, stream, _, _ in again}) == 2
    assert len(told.segments) < len(again)  # most were made long before the oldest record

    evidence = bench.replay(job.ring, receipt=True).receipt["evidence"]
    assert [(one["device"], one["requested_bytes"]) for one in evidence["requests"]] == [(0, truth["requested"][0])]
    assert free_extents(evidence, truth) == {
        (address, size): "compatible" if (stream, pool, kind) == (0, [0, 0], "large") else "incompatible" for address, size, stream, pool, kind in truth["free"]}


def test_a_tap_that_comes_late_asks_for_what_is_there(bench, built):
    job = bench.run("tapped.py", "attached_late", **built, **PENDING)
    assert job.code == 0, job.stderr
    ((failure, again),) = Told(job.ring).failures

    assert int(failure["address"]) == at_failure(bench)["requested"][0]
    assert joined(again) == true_segments(at_failure(bench))


def test_a_tap_that_comes_late_looks_once_for_all_devices_where_nothing_happens_meanwhile(bench, built):
    job = bench.run("tapped.py", "attached_late_beside_a_history", simcuda=TWO_CARDS, **built)
    assert job.code == 0, job.stderr
    ((failure, again),) = Told(job.ring).failures

    assert job.stdout == "[1, 1]\n"
    assert int(failure["address"]) == at_failure(bench)["requested"][0]
    assert again == [segment for segment in true_segments(at_failure(bench)) if segment[0] == 0]


@pytest.mark.parametrize("ring_mebibytes, is_told", [("1", False), ("2", True)])
def test_segments_that_would_take_more_than_a_sixteenth_of_the_ring_are_not_told_again(bench, built, ring_mebibytes, is_told):
    job = bench.run("tapped.py", "many_segments", MEMSNAP_RING_MB=ring_mebibytes, **built)
    assert job.code == 0, job.stderr
    ((failure, again),) = Told(job.ring).failures

    assert int(failure["address"]) == at_failure(bench)["requested"][0]
    assert joined(again) == (true_segments(at_failure(bench)) if is_told else [])


def test_a_tap_that_comes_while_threads_allocate_tells_the_exact_sum_or_none(bench, built):
    job = bench.run("tapped.py", "attached_among_threads", **built)
    assert job.code == 0, job.stderr
    ((failure, again),) = Told(job.ring).failures

    if int(failure["address"]) == NOT_KNOWN:
        assert again == []
    else:
        assert int(failure["address"]) == at_failure(bench)["requested"][0]
        assert joined(again) == true_segments(at_failure(bench))


def test_a_program_that_fails_all_the_time_is_not_told_its_segments_each_time(bench, built):
    job = bench.run("tapped.py", "many_failures", **built)
    failures = Told(job.ring).failures

    assert len(failures) == 100 and failures[0][1]
    assert len([again for _, again in failures if again]) < 100


def test_with_the_tap_a_hole_that_a_deferred_free_left_is_the_answer(bench, built):
    """Without it the same job cannot be decided (test_more_verdicts.py)."""
    job = bench.run_hooked("cases.py", "deferred_free", **built, **PENDING)
    assert job.code == 1 and "out of memory" in job.stderr and "torch tap" not in job.stderr
    assert tap_state(job.ring) == ATTACHED
    replay = bench.replay(job.ring, receipt=True)

    assert replay.code == 10 and "deferred_free" in replay.receipt["verdict"]["qualifiers"], replay.stdout


def test_children_attach_the_tap_themselves(bench, built):
    job = bench.run("tapped.py", "children", **built)
    assert job.code == 0, job.stderr

    assert [tap_state(ring) for ring in job.rings] == [ATTACHED, ATTACHED]
    for ring in job.rings:
        kinds = collections.Counter(ring_file.records(ring)["kind"].tolist())
        assert kinds[KIND["tap_alloc"]] == kinds[KIND["block_alloc"]] > 0


def test_a_job_with_the_tap_prints_and_ends_as_it_would_alone(bench, built):
    alone = bench.run("tapped.py", "plain", record=False)
    job = bench.run_hooked("tapped.py", "plain", **built)

    assert (job.code, job.stdout) == (alone.code, alone.stdout) and tap_state(job.ring) == ATTACHED
    assert [line.split(":")[0] for line in job.stderr.splitlines()] == ["memsnap"] and "out of memory recorded" in job.stderr


@pytest.mark.parametrize("environment, state", [({"MEMSNAP_TAP": "off"}, OFF), ({"MEMSNAP_TAP_DIR": "nothing-here"}, MISSING)], ids=["off", "none-built"])
def test_without_a_tap_nothing_is_said_and_nothing_of_it_is_recorded(bench, built, environment, state):
    job = bench.run_hooked("tapped.py", "plain", **built | environment)

    assert job.code == 0 and tap_state(job.ring) == state and "torch tap" not in job.stderr
    assert not set(ring_file.records(job.ring)["kind"].tolist()) & set(range(64, 72))


def test_an_allocator_that_takes_no_tap_says_so_once_and_the_job_goes_on(bench, built):
    unhooked = bench.run("tapped.py", "plain", record=False, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    job = bench.run_hooked("tapped.py", "plain", **built, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")

    assert (job.code, job.stdout) == (unhooked.code, unhooked.stdout)
    assert tap_state(job.ring) == REFUSED and job.stderr.count("the torch tap is not attached: cudaMallocAsync does not") == 1


WRONG = {
    "no-library": ("these are no instructions", "invalid ELF header|file too short"),
    "no-tap": ("int other;", "is no tap"),
    "another-torch": ('#include <stdlib.h>\nchar memsnap_tap_key[] = "torch=1.0"; int memsnap_tap_attach() { abort(); }', "was built for another torch"),
    "unknown-symbol": ("int nowhere(void); char memsnap_tap_key[] = KEY; int memsnap_tap_attach() { return nowhere(); }", "undefined symbol: nowhere"),
    "refusal": ("#include <stdio.h>\n" 'char memsnap_tap_key[] = KEY; int memsnap_tap_attach(char* text, size_t size) { snprintf(text, size, "not today"); return 1; }', "not today"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_library_that_is_not_this_torchs_tap_is_refused_with_one_line_and_the_job_goes_on(bench, wrong):
    source, reason = WRONG[wrong]
    library = bench.folder / "wrong.so"  # named without its folder below: the loader would not find it by itself
    if wrong == "no-library":
        library.write_text(source)
    else:
        key = subprocess.run(
            [sys.executable, "-c", "import torch; from memsnap.tap import _key; print(_key.key_of(torch))"], capture_output=True, text=True, check=True).stdout.strip()
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-z,now", f'-DKEY="{key}"', "-o", library, "-xc", "-"], input=source, text=True, check=True)
    unhooked = bench.run("tapped.py", "plain", record=False)
    job = bench.run_hooked("tapped.py", "plain", options=("--tap", library.name))

    assert (job.code, job.stdout) == (unhooked.code, unhooked.stdout)
    lines = [line for line in job.stderr.splitlines() if "torch tap" in line]
    assert len(lines) == 1 and any(word in lines[0] for word in reason.split("|")), job.stderr
    assert tap_state(job.ring) == REFUSED


def test_a_tap_that_others_could_have_written_is_not_loaded(bench, built):
    folder = pathlib.Path(built["MEMSNAP_TAP_DIR"])
    folder.chmod(0o777)
    try:
        job = bench.run_hooked("tapped.py", "plain", **built)
    finally:
        folder.chmod(0o700)

    assert job.code == 0 and tap_state(job.ring) == REFUSED and "others may write to" in job.stderr
