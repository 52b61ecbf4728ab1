# SPDX-License-Identifier: Apache-2.0
"""What the samples say about the card and its processes, against the accounts of the simulated card. Programs wait until they were sampled."""

import pathlib

import numpy
import pytest

import ring_file
from ring_file import KIND

MIB, GIB = 1024**2, 1024**3
CONTEXT_BYTES = 300 * MIB
OUTSIDE_PID = 4194305  # holds the simulated card's external bytes
OFTEN = {"MEMSNAP_SAMPLE_MS": "10", "MEMSNAP_RING_MB": "8"}


def of_kind(found: numpy.ndarray, *kinds: str) -> numpy.ndarray:
    return found[numpy.isin(found["kind"], [KIND[kind] for kind in kinds])]


def sampled(bench, *arguments: str, **options) -> numpy.ndarray:
    """The records of the job's own ring, the one that was made first."""
    job = bench.run("sampled.py", *arguments, **{**OFTEN, **options})
    assert job.code == 0, job.stderr
    return ring_file.records(min(job.rings, key=lambda ring: ring.stat().st_ctime_ns) if len(job.rings) > 1 else job.ring)


def assert_every_sample_balances(found: numpy.ndarray) -> None:
    """On the simulated card every byte that is not free belongs to a process, and a process sample stands right before its device sample."""
    places = numpy.flatnonzero(found["kind"] == KIND["device_sample"])
    assert len(places) >= 2
    for place in places.tolist():
        processes, device = found[place - 1], found[place]
        assert (processes["kind"], processes["device"], processes["flags"] & ring_file.UNAVAILABLE) == (KIND["process_sample"], device["device"], 0)
        assert int(processes["seq"]) + 1 == int(device["seq"])
        assert processes["size"] + int(processes["link"]) == device["size"] - int(device["link"])


@pytest.mark.parametrize("program, devices", [("steps", 1), ("two_devices", 2)])
def test_a_sample_says_what_the_driver_says_and_the_processes_add_up_to_the_card(bench, program, devices):
    found = sampled(bench, program, simcuda=("--total", "8GiB", "--devices", str(devices)))

    assert_every_sample_balances(found)
    answers = of_kind(found, "mem_info")
    assert len(answers) == 5 if program == "steps" else 2
    for answer in answers:
        before = of_kind(found[found["seq"] < answer["seq"]], "device_sample")
        sample = before[before["device"] == answer["device"]][-1]
        assert (sample["size"], sample["link"]) == (answer["size"], answer["link"])


def test_a_sample_amid_allocations_fits_its_place_among_them(bench):
    """Each says what the calls before it left, though segments come and go without a pause."""
    found = of_kind(sampled(bench, "busy"), "ok", "free", "device_sample")

    segments, samples = {}, 0
    for record in found:
        if record["kind"] == KIND["ok"]:
            segments[int(record["address"])] = int(record["size"])
        elif record["kind"] == KIND["free"]:
            segments.pop(int(record["address"]), None)
        else:
            samples += 1
            assert record["size"] - int(record["link"]) - CONTEXT_BYTES == sum(segments.values())
    assert samples >= 20


@pytest.mark.card_changes
@pytest.mark.parametrize("session, of_the_job", [("ours", 1), ("another", 0)])
def test_a_neighbour_is_seen_with_its_bytes_while_it_holds_them(bench, session, of_the_job):
    job = bench.run("sampled.py", "neighbour", session, **OFTEN)
    assert job.code == 0, job.stderr
    pid = int(job.stdout)
    (ring,) = [ring for ring in job.rings if str(pid) not in ring.name]
    found = ring_file.records(ring)

    assert_every_sample_balances(found)
    processes = of_kind(found, "process_sample")
    held = [(int(one["link"]), int(one["code"])) for one in processes]
    assert held[0] == held[-1] == (0, 0)
    assert held.count((2 * GIB + CONTEXT_BYTES, 1)) >= 2
    assert {one["size"] for one in processes} == {100 * MIB + CONTEXT_BYTES}
    neighbours = of_kind(found, "neighbour")
    assert {(int(one["address"]), int(one["code"])) for one in neighbours} == {(pid, of_the_job)}
    assert max(neighbours["link"]) == 2 * GIB + CONTEXT_BYTES


def test_memory_of_processes_outside_is_a_neighbours(bench):
    found = sampled(bench, "steps", simcuda=("--total", "8GiB", "--external", "0:2GiB"))

    assert_every_sample_balances(found)
    assert {(one["link"], one["code"]) for one in of_kind(found, "process_sample")} == {(2 * GIB, 1)}
    assert {(one["address"], one["link"], one["code"]) for one in of_kind(found, "neighbour")} == {(OUTSIDE_PID, 2 * GIB, 0)}


def test_a_forked_child_that_starts_cuda_itself_samples_for_itself(bench):
    job = bench.run("sampled.py", "forked_child", **OFTEN)
    assert job.code == 0, job.stderr
    assert len(job.rings) == 2

    own = []
    for ring in job.rings:
        found = ring_file.records(ring)
        assert_every_sample_balances(found)
        own.append(max(of_kind(found, "process_sample")["size"]))
    assert sorted(own) == [100 * MIB + CONTEXT_BYTES, 300 * MIB + CONTEXT_BYTES]


def test_switched_off_there_is_no_sample_and_the_header_says_so(bench):
    job = bench.run("sampled.py", "simple", MEMSNAP_SAMPLE_MS="0")

    assert job.code == 0 and ring_file.sampling(job.ring) == (2, 0)
    assert len(of_kind(ring_file.records(job.ring), "device_sample", "process_sample", "neighbour")) == 0


@pytest.mark.parametrize("value, period_ms", [("", 1000), ("soon", 1000), ("5", 1000), ("20", 20)])
def test_the_time_between_samples_is_in_the_header(bench, value, period_ms):
    job = bench.run("sampled.py", "simple", MEMSNAP_SAMPLE_MS=value)

    assert job.code == 0 and ring_file.sampling(job.ring)[1] == period_ms


def test_external_pressure_has_a_known_holder(bench):
    job = bench.run("sampled.py", "crowded_out", simcuda=("--total", "8GiB", "--external", "0:2GiB"), **OFTEN)
    assert job.code == 1 and "OutOfMemoryError" in job.stderr
    replay = bench.replay(job.ring, receipt=True)

    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "external", replay.stdout
    evidence, finding = replay.receipt["evidence"], replay.receipt["verdict"]["hypotheses"]["external"]
    assert "holder_unknown" not in str(finding)
    assert (evidence["outside"]["others_bytes"], evidence["outside"]["other_process_count"]) == (2 * GIB, 1)
    assert evidence["outside"]["holder_shares_job"] is False
    at_failure = [balance for balance in evidence["holders"] if balance["instant"] == "failure"]
    assert [(one["others_bytes"], one["unattributed_bytes"]) for one in at_failure] == [(2 * GIB, CONTEXT_BYTES)]
