# SPDX-License-Identifier: Apache-2.0
"""Device samples, with NVMLs of every form and mood: what they tell is in the file, what they do not tell is not."""

import contextlib
import pathlib
import subprocess
import time

import pytest

from recorded import BUILD, LIBRARY, TOTALS, Run, clean_environment, read_ring, records_of

DEVICE_SAMPLE, PROCESS_SAMPLE, NEIGHBOUR = 32, 33, 34
UNAVAILABLE = 32
UNKNOWN, NVML, OFF, MISSING, FAILED = range(5)
MIB = 1024 * 1024
FIRST, SECOND, THIRD = "1", "2", "3"


class Job:
    """A program that holds memory of device 0, with the recorder and the NVML of one form (None: none), until it is told to end."""

    def __init__(self, folder: pathlib.Path, form: str | None, program=("driver_until_eof",), **environment):
        self.folder = folder
        libraries = folder / "libraries"
        libraries.mkdir(exist_ok=True)
        if form is not None:
            (libraries / "libnvidia-ml.so.1").symlink_to(BUILD / f"libfake_nvml_{form}.so")
        environment = {"MEMSNAP_SAMPLE_MS": 10, "MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_OUT": folder / "ring.bin",
                       "LD_LIBRARY_PATH": libraries, "FAKE_CUDA": BUILD / "libfake_cuda.so"} | environment
        self.process = subprocess.Popen(
            [BUILD / program[0], *map(str, program[1:])], cwd=folder, env=clean_environment(LD_PRELOAD=LIBRARY, **environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, condition) -> None:
        deadline = time.monotonic() + 30
        while not ((self.folder / "ring.bin").exists() and condition(read_ring(self.folder / "ring.bin"))):
            assert time.monotonic() < deadline and self.process.poll() is None
            time.sleep(0.01)

    def end(self) -> dict:
        stdout, stderr = self.process.communicate(timeout=60)
        assert (self.process.returncode, stderr) == (0, ""), stdout
        (ring,) = Run(self.folder, self.process).rings()
        assert ring["violations"] == []
        return ring


@pytest.fixture
def sampled(tmp_path):
    """sampled(form, until=condition) records until the condition holds for the ring, and returns the ring."""
    jobs = []

    def run(form, until=lambda ring: ring["sample_count"] >= 2, **environment) -> dict:
        jobs.append(Job(tmp_path, form, **environment))
        jobs[-1].wait_for(until)
        return jobs[-1].end()

    yield run
    for job in jobs:
        job.process.kill()


def last(ring, kind):
    return records_of(ring, kind)[-1]


@pytest.mark.parametrize("form", [FIRST, SECOND, THIRD])
def test_every_form_of_the_library_tells_the_same(sampled, form):
    """The second form of the memory query counts what the driver keeps for itself into the total; CUDA does not."""
    ring = sampled(form, FAKE_NVML_OTHERS="3999998:200 3999999:100")

    assert (ring["header"]["sampling"], ring["header"]["samples_failed"]) == (NVML, 0)
    sample, processes = last(ring, DEVICE_SAMPLE), last(ring, PROCESS_SAMPLE)
    assert (sample["device"], sample["size"], sample["link"], sample["code"]) == (0, 1024 * MIB, 300 * MIB, 0)
    assert (processes["size"], processes["link"], processes["code"]) == (500 * MIB, 300 * MIB, 2)
    assert processes["flags"] & UNAVAILABLE == 0
    neighbours = records_of(ring, NEIGHBOUR)[-2:]
    assert [(one["address"], one["link"], one["code"], one["flags"]) for one in neighbours] == [(3999998, 200 * MIB, 0, 0), (3999999, 100 * MIB, 0, 0)]


def test_neighbours_come_before_their_process_sample_and_that_before_the_device_sample(sampled):
    ring = sampled(THIRD, FAKE_NVML_OTHERS="3999998:200 3999999:100")

    kinds = [one["kind"] for one in ring["records"]][2:]  # after the allocation
    assert len(kinds) >= 8 and len(kinds) % 4 == 0
    assert kinds == [NEIGHBOUR, NEIGHBOUR, PROCESS_SAMPLE, DEVICE_SAMPLE] * (len(kinds) // 4)


def test_of_many_neighbours_the_eight_largest_are_named_and_all_are_counted(sampled):
    ring = sampled(THIRD, FAKE_NVML_OTHERS=" ".join(f"{3999000 + i}:{10 + 7 * i % 20}" for i in range(20)))

    assert (last(ring, PROCESS_SAMPLE)["code"], last(ring, PROCESS_SAMPLE)["link"]) == (20, sum(range(10, 30)) * MIB)
    assert [one["link"] // MIB for one in records_of(ring, NEIGHBOUR)[-8:]] == [29, 28, 27, 26, 25, 24, 23, 22]


def test_a_process_in_two_lists_counts_once_and_clients_of_a_server_count(sampled):
    ring = sampled(THIRD, FAKE_NVML="draws shared", FAKE_NVML_OTHERS="3999999:100")

    processes = last(ring, PROCESS_SAMPLE)
    assert (processes["size"], processes["link"], processes["code"]) == (500 * MIB, 107 * MIB, 2)


@pytest.mark.parametrize("mood", ["host_numbers", "without_us", "our_bytes_zero", "unlisted", "too_many"])
def test_where_our_own_bytes_cannot_be_told_from_others_nothing_is_said_about_processes(sampled, mood):
    ring = sampled(THIRD, FAKE_NVML=mood, FAKE_NVML_OTHERS="3999999:100")

    processes = last(ring, PROCESS_SAMPLE)
    assert processes["flags"] & UNAVAILABLE and (processes["size"], processes["link"]) == (0, 0)
    assert last(ring, DEVICE_SAMPLE)["link"] == 300 * MIB
    assert records_of(ring, NEIGHBOUR) == []


def test_a_card_that_nobody_is_listed_for_leaves_the_processes_unknown(sampled):
    ring = sampled(THIRD, FAKE_NVML="without_us")

    assert last(ring, PROCESS_SAMPLE)["flags"] & UNAVAILABLE


def test_our_own_bytes_that_are_not_told_leave_the_sum_unknown_and_the_neighbours_named(sampled):
    ring = sampled(THIRD, FAKE_NVML="our_bytes_untold", FAKE_NVML_OTHERS="3999999:100")

    assert last(ring, PROCESS_SAMPLE)["flags"] & UNAVAILABLE
    assert (last(ring, NEIGHBOUR)["address"], last(ring, NEIGHBOUR)["link"]) == (3999999, 100 * MIB)


def test_a_neighbour_whose_bytes_are_not_told_makes_the_sum_unknown(sampled):
    ring = sampled(FIRST, FAKE_NVML_OTHERS="3999998:-1 3999999:100")

    processes = last(ring, PROCESS_SAMPLE)
    assert processes["flags"] & UNAVAILABLE and processes["code"] == 2
    known, untold = records_of(ring, NEIGHBOUR)[-2:]
    assert (known["address"], known["link"], known["flags"]) == (3999999, 100 * MIB, 0)
    assert (untold["address"], untold["link"], untold["flags"]) == (3999998, 0, UNAVAILABLE)


@pytest.mark.parametrize("mood, total", [("no_uuid", 1024 * MIB), ("divided", 512 * MIB)])
def test_a_card_is_found_by_its_bus_or_an_instance_by_its_own_name(sampled, mood, total):
    ring = sampled(THIRD, FAKE_NVML=mood)

    assert last(ring, DEVICE_SAMPLE)["size"] == total


@pytest.mark.parametrize("mood", ["no_uuid no_bus", "divided no_uuid"])
def test_a_card_that_cannot_be_told_from_others_is_not_sampled(sampled, mood):
    """Above all the whole of a divided card is not taken for our instance of it."""
    ring = sampled(THIRD, until=lambda ring: ring["header"]["sampling"] == FAILED, FAKE_NVML=mood)

    assert (ring["header"]["samples_failed"], ring["sample_count"]) == (1, 0)
    assert [records_of(ring, kind) for kind in (DEVICE_SAMPLE, PROCESS_SAMPLE, NEIGHBOUR)] == [[], [], []]


def test_queries_that_fail_are_counted(sampled):
    ring = sampled(THIRD, until=lambda ring: ring["header"]["samples_failed"] >= 3, FAKE_NVML="lost")

    assert (ring["header"]["sampling"], ring["sample_count"]) == (NVML, 0)


@pytest.mark.parametrize("form, mood, said", [(None, "", MISSING), (THIRD, "refuses", FAILED)])
def test_an_nvml_that_is_not_there_or_refuses_is_said(sampled, form, mood, said):
    ring = sampled(form, until=lambda ring: ring["header"]["sampling"] == said, FAKE_NVML=mood)

    assert ring["sample_count"] == 0 and len(ring["records"]) == 2


def test_switched_off_it_takes_no_samples_and_says_so(sampled):
    ring = sampled(THIRD, until=lambda ring: ring["header"]["thread_count"] > 1, MEMSNAP_SAMPLE_MS="0")

    assert (ring["header"]["sampling"], ring["header"]["sample_period_ms"]) == (OFF, 0)
    assert ring["sample_count"] == 0 and len(ring["records"]) == 2


def test_the_last_samples_and_the_first_and_last_processes_are_never_lapped(sampled):
    ring = sampled(THIRD, until=lambda ring: ring["sample_count"] >= 70)

    samples, processes = records_of(ring, DEVICE_SAMPLE), records_of(ring, PROCESS_SAMPLE)
    kept = sorted((one for one in ring["samples"] if one), key=lambda one: one["ticket"])
    assert kept == samples[-64:] and ring["sample_count"] == len(samples)
    assert sorted(one["ticket"] for one in ring["pinned"][10:12]) == [one["ticket"] for one in processes[-2:]]
    assert ring["pinned"][12] == processes[0]
    assert sorted(one["ticket"] for one in ring["pinned"][2:4]) == [one["ticket"] for one in samples[-2:]]


def neighbour_of_the_job(sampled, tmp_path, new_session: bool, there: dict, here: dict) -> int:
    """The job bit of another process that holds memory."""
    environment = {"PATH": "/usr/bin:/bin"} | there
    with subprocess.Popen(["sleep", "1000"], start_new_session=new_session, env=environment) as other:
        try:
            ring = sampled(THIRD, FAKE_NVML_OTHERS=f"{other.pid}:100", **here)
        finally:
            other.kill()
    (code,) = {one["code"] for one in records_of(ring, NEIGHBOUR)}
    return code


@pytest.mark.parametrize("new_session, there, here, of_the_job", [
    (False, {}, {}, 1),
    (True, {}, {}, 0),
    (True, {"SLURM_JOB_ID": "77"}, {"SLURM_JOB_ID": "77"}, 1),
    (True, {"SLURM_JOB_ID": "78"}, {"SLURM_JOB_ID": "77"}, 0),
    (True, {"TORCHELASTIC_RUN_ID": "none"}, {"TORCHELASTIC_RUN_ID": "none"}, 0),
    (True, {"X_SLURM_JOB_ID": "77", "SLURM_JOB_ID_X": "77"}, {"SLURM_JOB_ID": "77"}, 0),
], ids=["our session", "another session", "our launcher id", "another launcher id", "no launcher id", "other variables"])
def test_a_neighbour_is_of_the_job_by_its_session_or_its_launcher_id(sampled, tmp_path, new_session, there, here, of_the_job):
    assert neighbour_of_the_job(sampled, tmp_path, new_session, there, here) == of_the_job


def test_no_signal_of_the_program_can_land_in_the_thread(tmp_path):
    job = Job(tmp_path, THIRD)
    job.wait_for(lambda ring: ring["sample_count"] >= 1)
    tasks = pathlib.Path(f"/proc/{job.process.pid}/task").iterdir()
    (status,) = [text for text in ((task / "status").read_text() for task in tasks) if text.startswith("Name:\tmemsnap\n")]
    job.end()

    (blocked,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk:")]
    never_blocked = {9, 19, 32, 33}  # kill, stop, and the two that the C library keeps for itself
    assert {signal for signal in range(1, 65) if not blocked >> (signal - 1) & 1} == never_blocked


def test_exit_waits_for_a_query_in_progress(tmp_path):
    """An NVML that has been torn down meanwhile aborts the process."""
    for repeat in range(10):
        folder = tmp_path / str(repeat)
        folder.mkdir()
        job = Job(folder, THIRD, FAKE_NVML="slow")
        job.wait_for(lambda ring: ring["sample_count"] >= 1)
        ring = job.end()
        assert ring["header"]["exit_mark"] == ring["header"]["head"] + 1  # and no sample comes after the exit


def test_children_do_not_inherit_a_query_in_progress(tmp_path):
    """NVML's lock, held by a thread that the child does not have, would be held for ever."""
    job = Job(tmp_path, THIRD, program=("nvml_children", 40), FAKE_NVML="slow")
    stdout, stderr = job.process.communicate(timeout=300)

    assert (job.process.returncode, stdout, stderr) == (0, "stuck 0\n", "")
    assert read_ring(tmp_path / "ring.bin")["sample_count"] > 2


def test_a_child_that_starts_the_driver_itself_samples_for_itself(tmp_path):
    def has_samples(ring):
        return ring["sample_count"] >= 2

    job = Job(tmp_path, THIRD, program=("nvml_children", 0))
    job.wait_for(has_samples)
    job.wait_for(lambda _: (tmp_path / "ring-2.bin").exists() and has_samples(read_ring(tmp_path / "ring-2.bin")))
    job.process.communicate(timeout=60)

    parent, child = read_ring(tmp_path / "ring.bin"), read_ring(tmp_path / "ring-2.bin")
    assert parent["violations"] == child["violations"] == []
    assert child["header"]["parent_pid"] == parent["header"]["pid"]
    assert [ring["records"][1]["size"] for ring in (parent, child)] == [2 * MIB, 4 * MIB]
    assert [ring["header"]["sampling"] for ring in (parent, child)] == [NVML, NVML]


def stepping(folder, period_ms):
    """A job whose device is sampled once and that then ends a step for each line it reads."""
    job = Job(folder, THIRD, program=("marks", "cuInit", "alloc", "step_by_lines"), MEMSNAP_SAMPLE_MS=period_ms, MEMSNAP_STACK="off")
    job.wait_for(lambda ring: ring["sample_count"] >= 1)
    return job


def step(job):
    before = len(read_ring(job.folder / "ring.bin")["boundaries"])
    job.process.stdin.write("\n")
    job.process.stdin.flush()
    job.wait_for(lambda ring: len(ring["boundaries"]) > before)


def test_a_sample_names_the_last_boundary_before_it_and_tells_its_age(tmp_path):
    job = stepping(tmp_path, 10)
    step(job)
    step(job)
    count = read_ring(tmp_path / "ring.bin")["sample_count"]
    job.wait_for(lambda ring: ring["sample_count"] > count + 1)
    ring = job.end()

    samples = records_of(ring, DEVICE_SAMPLE)
    for sample in samples:
        before = [one for one in ring["boundaries"] if one["time"] <= sample["time"] and one["ticket"] < sample["ticket"]]
        if not before or len(before) == len(ring["boundaries"]):
            assert sample["address"] == (before[-1]["ordinal"] + 1 | (sample["time"] - before[-1]["time"] >> 20) << 32 if before else 0)
    assert samples[0]["address"] == 0 and samples[-1]["address"] & 0xFFFFFFFF == 2


def test_a_boundary_wakes_the_sampler_when_the_last_sample_is_old(tmp_path):
    """A tenth of the period is old enough; without a boundary the next sample would come after the whole of it."""
    period_s = 30
    job = stepping(tmp_path, period_s * 1000)
    end = time.monotonic() + period_s * 0.8
    while read_ring(tmp_path / "ring.bin")["sample_count"] < 2:
        assert time.monotonic() < end
        step(job)
        time.sleep(0.1)
    ring = job.end()

    assert records_of(ring, DEVICE_SAMPLE)[-1]["address"] & 0xFFFFFFFF != 0


def test_a_boundary_soon_after_a_sample_takes_no_other(tmp_path):
    job = stepping(tmp_path, 24 * 60 * 60 * 1000)
    for _ in range(20):
        step(job)

    assert job.end()["sample_count"] == 1
