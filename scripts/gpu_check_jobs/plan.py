# SPDX-License-Identifier: Apache-2.0
"""The jobs and what is held against each. The rule: a job's checks are named lines; what cannot be checked here is a line that says why."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil

import running
import checks
from running import ORACLE, REPLAY, TOP, Bench, OutOfTime
from checks import Line

JOB_LIMIT_S = 100
RING = {"MEMSNAP_RING_MB": "16", "MEMSNAP_SAMPLE_MS": "100"}
OVERHEAD_WORKER = TOP / "tests/bench/recorder_worker.py"
OVERHEAD_TURNS, OVERHEAD_PAIRS = 3, 50_000


@dataclasses.dataclass
class Job:
    name: str
    program: str  # of job.py
    cause: str | None = None  # expected primary cause; None: the job ends well
    environment: dict = dataclasses.field(default_factory=dict)
    has_state: bool = True  # PyTorch can say what blocks it has
    predictable: bool = True  # to the byte: whatever comes and goes is that of a recorded call, in whole granules
    uses: tuple = ()  # libraries with a runtime of their own that it puts to work
    on_simulated: str = ""  # why it cannot run on the simulated GPU


def allocator(options: str) -> dict:
    return {"PYTORCH_CUDA_ALLOC_CONF": options}


JOBS = [
    Job("training", "no_failure", uses=("libcublas",)),
    Job("oom_live_set", "live_set", "live_set"),
    Job("oom_retention", "retention", "retention"),
    Job("oom_fragmentation", "fragmentation", "fragmentation"),
    Job("oom_external", "external", "external", predictable=False),
    Job("expandable_segments", "pinned_remainders", None, allocator("expandable_segments:True")),
    Job("cuda_graphs", "graphs"),
    Job("nccl_one_rank", "nccl", uses=("libnccl",), on_simulated="NCCL does not run on the simulated GPU"),
    Job("cublas_workspaces", "blas", uses=("libcublas", "libcublasLt")),
    Job("cuda_malloc_async", "no_failure", None, allocator("backend:cudaMallocAsync"), has_state=False, predictable=False),
    Job("no_caching", "no_failure", None, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, has_state=False, predictable=False),
]


class Run:
    """One finished run of a job, in a folder of its own; its messages are kept under its label."""

    def __init__(self, bench: Bench, job: Job, label: str, record: bool = True, **extra: str):
        self.folder = bench.work / f"{job.name}-{label}"
        self.folder.mkdir()
        settings = (RING if record else {}) | job.environment | extra
        self.done = bench.python([running.HERE / "job.py", job.program], JOB_LIMIT_S, self.folder, record, **settings)
        self.facts = running.facts_of(self.folder)
        kept = bench.out / job.name
        kept.mkdir(exist_ok=True)
        (kept / f"{label}.stderr.txt").write_text(running.redacted(self.done.stderr))

    def outcome(self) -> dict:
        return {"code": self.done.code, "stdout": self.done.stdout, "peak_bytes": self.facts and self.facts["peak_bytes"]}

    def rings(self) -> list:
        return sorted(self.folder.glob("ring-*.bin"))

    def ring(self) -> pathlib.Path | None:
        """The job's own; a process that it started may have another."""
        return self.folder / f"ring-{self.facts['pid']}.bin" if self.facts and self.facts["recorded"] else None


def check_job(bench: Bench, job: Job):
    """Yields (check, line)."""
    if bench.simulated and job.on_simulated:
        yield "run", checks.skip(job.on_simulated)
        return
    plain, recorded = Run(bench, job, "plain", record=False), Run(bench, job, "recorded")
    try:
        yield "same_job", checks.same_job(plain.outcome(), recorded.outcome())
        ring = recorded.ring()
        if ring is None:
            yield "recording", checks.judge(False, f"the job left no recording or did not come to its end (exit code {recorded.done.code})")
            return
        for number, each in enumerate([ring, *(other for other in recorded.rings() if other != ring)]):
            yield ("agreement" if number == 0 else f"agreement_of_child_{number}"), agree(bench, each)
        yield from check_ring(bench, job, recorded, ring)
    finally:
        shutil.rmtree(plain.folder)
        shutil.rmtree(recorded.folder)


def receipt_of(ring: pathlib.Path) -> pathlib.Path:
    return ring.with_suffix(".receipt.json")


def agree(bench: Bench, ring: pathlib.Path) -> Line:
    replayed = bench.tool(REPLAY, ring, "--json", receipt_of(ring), folder=ring.parent)
    exists = receipt_of(ring).exists()
    judged = bench.tool(ORACLE, *(["--receipt", receipt_of(ring)] if exists else []), ring, folder=ring.parent)
    return checks.agreement(replayed.code, judged.code, exists)


def check_ring(bench: Bench, job: Job, recorded: Run, ring: pathlib.Path):
    if not receipt_of(ring).exists():
        return
    shutil.copy(receipt_of(ring), bench.out / job.name / "receipt.json")
    receipt = json.loads(receipt_of(ring).read_text())
    yield "verdict", checks.verdict(job.cause, receipt)
    yield "torch_state", torch_state(bench, job, recorded)
    rows = running.rows_of(bench.tool(REPLAY, ring, "--csv", "-", folder=ring.parent).stdout)
    yield "device_free", checks.device_free(recorded.facts["memory"], running.last_sample(rows))
    yield "reconciliation", checks.reconciliation(running.predictions(rows), must_match=bench.simulated and job.predictable)
    if bench.simulated:
        yield "entry_points", checks.skip("libraries with a runtime of their own do not run on the simulated GPU")
    else:
        header = bench.tool(REPLAY, "dump", "--header", ring, folder=ring.parent).stdout
        yield "entry_points", checks.entry_points(job.uses, running.entry_point_counts(header))


def torch_state(bench: Bench, job: Job, recorded: Run) -> Line:
    if not job.has_state:
        return checks.skip("PyTorch keeps no blocks in this mode")
    instant = recorded.folder / "instant-00-end.json"
    state = bench.tool(REPLAY, "dump", "--state", instant.with_suffix(".bin"), folder=recorded.folder)
    return checks.torch_state(json.loads(instant.read_text()), running.replayed_state(state.stdout))


def check_cupti(bench: Bench):
    if bench.simulated:
        yield "agreement", checks.skip("CUPTI does not run on the simulated GPU")
        return
    recorded = Run(bench, JOBS[0], "cupti", MEMSNAP_CUPTI="1")
    ring = recorded.ring()
    checked = bench.tool(REPLAY, "check", ring, folder=recorded.folder) if ring else running.Done(1, "", "")
    yield "agreement", checks.cupti(checked.code, checked.stdout + checked.stderr, recorded.done.stderr)
    shutil.rmtree(recorded.folder)


def check_entry_points(bench: Bench):
    done = bench.python([running.HERE / "entry_points.py"], JOB_LIMIT_S, bench.work, record=False)
    yield "pointers", checks.exported_entry_points(json.loads(done.stdout) if done.code == 0 else [])


def check_overhead(bench: Bench):
    if bench.simulated:
        yield "pairs", checks.skip("scripts/bench measures it on the simulated GPU")
        return
    yield "pairs", checks.overhead(measured_pairs(bench))


def measured_pairs(bench: Bench) -> dict:
    """Least ns of a pair, in turns, so that whatever slows the machine slows all."""
    folder, best = bench.work / "overhead", {}
    folder.mkdir()
    for _ in range(OVERHEAD_TURNS):
        for name, mode, record in (("off", "off", False), ("history", "history", False), ("memsnap", "off", True)):
            done = bench.python([OVERHEAD_WORKER, mode, OVERHEAD_PAIRS], JOB_LIMIT_S, folder, record)
            best[name] = min(best.get(name, float("inf")), json.loads(done.stdout)["steady"])
            left = list(folder.glob("ring-*"))
            if bool(left) != record:
                raise RuntimeError(f"{name}: {len(left)} recordings")
            for ring in left:
                ring.unlink()
    return best


def groups() -> dict:
    """By name, what yields (check, line) when it is given the bench."""
    of_jobs = {job.name: lambda bench, job=job: check_job(bench, job) for job in JOBS}
    return of_jobs | {"cupti": check_cupti, "driver_entry_points": check_entry_points, "overhead": check_overhead}


def run_group(bench: Bench, check) -> list:
    """The lines of one group; what goes wrong in it is a line of its own and does not end the whole."""
    lines = []
    try:
        lines += check(bench)
    except OutOfTime:
        lines.append(("time", checks.skip("no time left")))
    except Exception as error:  # a machine never seen before may surprise anything
        lines.append(("run", checks.judge(False, running.redacted(f"{type(error).__name__}: {error}"))))
    return lines
