# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check: its comparisons find planted differences, and the whole of it runs on the simulated GPU."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from conftest import BUILD, TOP

SCRIPT = TOP / "scripts/gpu_check"
sys.path.insert(0, str(TOP / "scripts/gpu_check_jobs"))

import checks
import plan
import running

MIB = 1024 * 1024
GIB = 1024 * MIB
RUN = {"code": 0, "stdout": "done\n", "peak_bytes": 4096}
TRUTH = {"totals": {"0": [1024, 2 * MIB, 7, 5], "1": [0, 0, 0, 0]}, "segments": [[0, 4096, 2 * MIB, False]], "blocks": [[0, 4096, 512], [0, 4608, 512]]}
STATE = {"totals": {"0": [1024, 2 * MIB]}, "segments": [[0, 4096, 2 * MIB, False]], "blocks": [[0, 4096, 512], [0, 4608, 512]]}
CARD = {"total_bytes": 8 * GIB, "free_bytes": 5 * GIB}
MEMORY = {**CARD, "nvml": CARD, "still": True}
EQUAL = ["cuMemAlloc", 3020, 0, "cuMemAlloc_v2", "equal"]
CUPTI_AGREES = "CUPTI agrees on 12 allocations and 3 releases\n"
NO_CUPTI = "memsnap: no cross-check, or not a whole one: another tool uses CUPTI; recording to /ring-N.bin\n"


def receipt(primary=None, undecidable=(), others_bytes=0, failure=None) -> dict:
    return {"verdict": {"primary": primary, "undecidable": list(undecidable), "exit_status": 0 if failure is None else 10},
            "evidence": {"failure": failure, "outside": {"others_bytes": others_bytes}}}


CASES = {
    "same job": ("ok", checks.same_job(RUN, RUN)),
    "another exit code": ("differs", checks.same_job(RUN, {**RUN, "code": 1})),
    "another output": ("differs", checks.same_job(RUN, {**RUN, "stdout": "Done\n"})),
    "another peak": ("differs", checks.same_job(RUN, {**RUN, "peak_bytes": 4608})),
    "no end with the recorder": ("differs", checks.same_job(RUN, {**RUN, "peak_bytes": None})),
    "agreement": ("ok", checks.agreement(10, 0, True)),
    "another verdict of the oracle": ("differs", checks.agreement(10, 6, True)),
    "no receipt": ("differs", checks.agreement(4, 0, False)),
    "expected cause": ("ok", checks.verdict("retention", receipt("retention", failure={}))),
    "another cause": ("differs", checks.verdict("retention", receipt("live_set", failure={}))),
    "no incident expected": ("ok", checks.verdict(None, receipt())),
    "an incident not expected": ("differs", checks.verdict(None, receipt("live_set", failure={}))),
    "others unknown": ("skipped", checks.verdict("external", receipt(None, ["external"], None, {}))),
    "others known and external undecidable": ("differs", checks.verdict("external", receipt(None, ["external"], 7, {}))),
    "PyTorch's state": ("ok", checks.torch_state(TRUTH, STATE)),
    "a block too few": ("differs", checks.torch_state(TRUTH, {**STATE, "blocks": STATE["blocks"][1:]})),
    "a block of another size": ("differs", checks.torch_state(TRUTH, {**STATE, "blocks": [[0, 4096, 1024], [0, 4608, 512]]})),
    "a segment too many": ("differs", checks.torch_state(TRUTH, {**STATE, "segments": STATE["segments"] * 2})),
    "a segment of another kind": ("differs", checks.torch_state(TRUTH, {**STATE, "segments": [[0, 4096, 2 * MIB, True]]})),
    "other totals": ("differs", checks.torch_state(TRUTH, {**STATE, "totals": {"0": [1024, 4 * MIB]}})),
    "device free": ("ok", checks.device_free(MEMORY, CARD)),
    "within what the driver reserves": ("ok", checks.device_free({**MEMORY, "free_bytes": 5 * GIB - 100 * MIB}, CARD)),
    "a sample that NVML does not confirm": ("differs", checks.device_free(MEMORY, {**CARD, "free_bytes": 5 * GIB - 3 * MIB})),
    "another total": ("differs", checks.device_free(MEMORY, {**CARD, "total_bytes": 9 * GIB})),
    "the runtime says something else": ("differs", checks.device_free({**MEMORY, "free_bytes": 4 * GIB}, CARD)),
    "no sample": ("differs", checks.device_free(MEMORY, None)),
    "no NVML": ("skipped", checks.device_free({**MEMORY, "nvml": "NVML is not here"}, CARD)),
    "a card in use": ("skipped", checks.device_free({**MEMORY, "still": False}, CARD)),
    "predicted": ("ok", checks.reconciliation([[4096, 4096], [512, 512]], True)),
    "a mismatch": ("differs", checks.reconciliation([[4096, 4096], [512, 0]], True)),
    "a mismatch on hardware": ("ok", checks.reconciliation([[4096, 4096], [512, 0]], False)),
    "nothing to predict": ("skipped", checks.reconciliation([], True)),
    "entry points": ("ok", checks.entry_points(("libcublas",), {"libcublas": 28, "libnccl": 0})),
    "a library that was given none": ("differs", checks.entry_points(("libcublas", "libnccl"), {"libcublas": 28, "libnccl": 0})),
    "a library that is not listed": ("differs", checks.entry_points(("libnccl",), {"libcublas": 28})),
    "no such library": ("skipped", checks.entry_points((), {"libcublas": 0})),
    "CUPTI agrees": ("ok", checks.cupti(0, CUPTI_AGREES, "")),
    "CUPTI differs": ("differs", checks.cupti(6, "CUPTI saw an allocation of 4096 bytes that the hooks did not\n", "")),
    "CUPTI saw nothing": ("differs", checks.cupti(0, CUPTI_AGREES.replace("12", "0"), "")),
    "CUPTI is silent": ("differs", checks.cupti(0, "the recording is whole\n", "")),
    "CUPTI stood aside": ("skipped", checks.cupti(0, "", NO_CUPTI)),
    "pointers": ("ok", checks.exported_entry_points([EQUAL, [*EQUAL[:4], "refused"]])),
    "another pointer": ("differs", checks.exported_entry_points([EQUAL, [*EQUAL[:4], "different"]])),
    "no pointer at all": ("differs", checks.exported_entry_points([])),
    "cheap": ("ok", checks.overhead({"off": 2000, "history": 2250, "memsnap": 2190})),
    "expensive": ("differs", checks.overhead({"off": 2000, "history": 2250, "memsnap": 2600})),
    "not measurable": ("skipped", checks.overhead({"off": 2000, "history": 1990, "memsnap": 2190})),
}


@pytest.mark.parametrize("status, line", CASES.values(), ids=CASES)
def test_a_comparison_finds_what_differs(status, line):
    assert (line.status, bool(line.text)) == (status, True)


LEDGER = """kind,code,device_total_bytes,device_free_bytes,expected_free_bytes
device_sample,0,100,90,
mem_info,0,100,80,
mem_info,0,100,70,75
device_sample,999,,,70
device_sample,0,100,70,70
device_sample,0,100,60,70
"""


def test_the_sample_is_the_first_good_one_behind_the_last_question():
    rows = running.rows_of(LEDGER)
    assert running.last_sample(rows) == {"total_bytes": 100, "free_bytes": 70}
    assert running.last_sample(rows[:4]) is None


def test_a_prediction_is_that_of_a_question_of_the_program():
    assert running.predictions(running.rows_of(LEDGER)) == [[75, 70]]


def test_entry_points_are_counted_by_library_name():
    header = ("head_ticket 7\nlibrary 1 role program entry_points 0 name -\nlibrary 2 role unknown entry_points 28 name libcublas.so.13\n"
              "library 3 role unknown entry_points 2 name libcublas.so.13\nlibrary 4 role unknown entry_points 5 name a name\n")
    assert running.entry_point_counts(header) == {"-": 0, "libcublas": 30, "a name": 5}


def test_messages_lose_folders_and_process_ids():
    text = 'File "/home/someone/job.py", line 3\nmemsnap: recorded in /tmp/a b/ring-77.bin\nProcess 4121 has 2.00 GiB, 1/2 of it free'
    assert running.redacted(text) == 'File "/job.py", line 3\nmemsnap: recorded in /a b/ring-N.bin\nProcess N has 2.00 GiB, 1/2 of it free'


def bench_of(folder: pathlib.Path, left_s: float = 60, build: pathlib.Path = BUILD) -> running.Bench:
    return running.Bench(build, folder, folder, True, time.monotonic() + left_s)


def test_a_job_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    script = "import subprocess, sys; child = subprocess.Popen(['sleep', '1000']); print(child.pid, flush=True); child.wait()"
    done = bench_of(tmp_path).run([sys.executable, "-c", script], 3, tmp_path)
    assert done.code == running.TIMED_OUT
    deadline = time.monotonic() + 30
    while pathlib.Path(f"/proc/{done.stdout.strip()}/cmdline").exists() and time.monotonic() < deadline:
        if pathlib.Path(f"/proc/{done.stdout.strip()}/cmdline").read_text() == "":
            break  # ended, and not yet waited for by whoever adopted it
        time.sleep(0.05)
    assert time.monotonic() < deadline


def test_without_time_left_a_group_is_skipped_and_a_surprise_is_a_line(tmp_path):
    ((_, late),) = plan.run_group(bench_of(tmp_path, left_s=0), plan.check_entry_points)
    assert late.status == "skipped"
    ((_, surprised),) = plan.run_group(bench_of(tmp_path), lambda bench: [bench.no_such_member])
    assert surprised.status == "differs"


def gpu_check(folder: pathlib.Path, *arguments, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, SCRIPT, "--build", BUILD, "--out", "results", *map(str, arguments)], cwd=folder,
                          env=os.environ | environment, capture_output=True, text=True, timeout=600)


def results_of(folder: pathlib.Path) -> dict:
    return {f"{one['group']}: {one['check']}": one for one in json.loads((folder / "results/results.json").read_text())["results"]}


def test_without_a_gpu_it_says_so_and_leaves_nothing(tmp_path):
    done = gpu_check(tmp_path, CUDA_VISIBLE_DEVICES="-1")
    assert (done.returncode, done.stdout) == (77, "")
    assert done.stderr.startswith("gpu_check: no GPU that PyTorch can use: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("--only", "trainings"), ("--build", "nowhere"), ("--out", ".")])
def test_what_cannot_be_done_is_refused_before_anything_runs(tmp_path, arguments):
    done = gpu_check(tmp_path, *arguments)
    assert done.returncode == 2 and arguments[0] in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_whole_of_it_on_the_simulated_gpu(tmp_path):
    done = gpu_check(tmp_path, "--simulated")
    found = results_of(tmp_path)
    assert (done.returncode, [name for name, one in found.items() if one["status"] == "differs"]) == (0, []), done.stdout + done.stderr

    jobs = {job.name for job in plan.JOBS} - {"nccl_one_rank"}
    expected_ok = {f"{job}: {check}" for job in jobs for check in ("same_job", "agreement", "verdict", "device_free", "reconciliation")}
    expected_ok |= {f"{job.name}: torch_state" for job in plan.JOBS if job.name in jobs and job.has_state}
    expected_ok |= {"oom_external: agreement_of_child_1", "driver_entry_points: pointers"}
    assert {name for name, one in found.items() if one["status"] == "ok"} == expected_ok
    assert found["oom_external: torch_state"]["numbers"]["blocks_count"] > 10
    assert {one["group"] for one in found.values()} == set(plan.groups())

    files = sorted(file.relative_to(tmp_path / "results") for file in (tmp_path / "results").rglob("*") if file.is_file())
    kept = [pathlib.Path(job, name) for job in jobs for name in ("plain.stderr.txt", "receipt.json", "recorded.stderr.txt")]
    assert files == sorted([pathlib.Path("report.txt"), pathlib.Path("results.json"), *kept])
    text = "\n".join((tmp_path / "results" / file).read_text() for file in files)
    assert str(tmp_path) not in text and str(TOP) not in text and sys.prefix not in text
    assert all(f"{name}".ljust(40) in text for name in found)


def test_a_recorder_that_changes_the_job_is_found(tmp_path):
    """A stand-in that prints to the job's output and records nothing."""
    build = tmp_path / "build"
    (build / "interpose").mkdir(parents=True)
    for name in ("replay", "oracle", "tests"):
        (build / name).symlink_to(BUILD / name)
    source = tmp_path / "loud.c"
    source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void say(void) { puts("recorded"); fflush(stdout); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", build / "interpose/libmemsnap.so", source], check=True)
    done = gpu_check(tmp_path, "--simulated", "--build", build, "--only", "cuda_graphs")
    statuses = {name: one["status"] for name, one in results_of(tmp_path).items()}
    assert (done.returncode, statuses) == (1, {"cuda_graphs: same_job": "differs", "cuda_graphs: recording": "differs"}), done.stdout


def test_a_packed_build_is_small_and_brings_all_that_its_programs_need(tmp_path):
    done = gpu_check(tmp_path, "--pack", "packed")
    assert done.returncode == 0, done.stderr
    packed = tmp_path / "packed"
    assert sum(file.stat().st_size for file in packed.rglob("*") if file.is_file()) < 40 * MIB
    bench = bench_of(tmp_path, build=packed)
    for name in (running.REPLAY, running.ORACLE):
        assert bench.tool(name, "--help", folder=tmp_path).code == 0
        if "INTERP" not in subprocess.run(["readelf", "-lW", packed / name], capture_output=True, text=True, check=True).stdout:
            continue  # whole
        # All of its libraries are the packed ones.
        listed = subprocess.run([packed / running.LOADER, "--library-path", packed / "lib", "--list", packed / name], capture_output=True, text=True).stdout
        assert all(str(packed) in line for line in listed.splitlines() if "=> /" in line) and "libsodium" in listed
