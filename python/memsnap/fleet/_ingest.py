# SPDX-License-Identifier: Apache-2.0
"""`memsnap fleet ingest`: batches are made by worker processes, here or on a Ray cluster, and committed one by one as they come back. The rule: both
engines make the same batches of the same sources with the same code; only who runs them differs."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import os

from . import _batch
from ._lake import Lake, Overlap
from ._sources import BATCH_FILES, Source, batches, find


class Stopped(Exception):
    """The ingest ended early; what was committed stays, and running it again takes the rest."""


@dataclasses.dataclass
class Outcome:
    """Of a whole ingest. `rejected`: (path, reason, detail); `unseen`: what could not be looked into (path, reason)."""

    source_count: int
    counts: dict
    rejected: list
    unseen: list


def cores() -> int:
    return len(os.sched_getaffinity(0))


def _here(plan: _batch.Plan, work: list[list[Source]], workers: int):
    """Outcomes with the number of their batch, in any order, from processes of this machine; a batch in hand for each, and one waiting."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting, running = iter(enumerate(work)), {}
        try:
            while True:
                while len(running) < 2 * workers and (following := next(waiting, None)):
                    running[pool.submit(_batch.take, plan, following[1])] = following[0]
                if not running:
                    return
                done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        except concurrent.futures.process.BrokenProcessPool:
            raise Stopped("a worker process was killed") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _run(plan: _batch.Plan, work: list[list[Source]], engine: str, workers: int | None, address: str | None):
    if engine == "ray":
        from . import _ray

        yield from _ray.batches(plan, work, workers, address)
        return
    workers = workers or cores()
    if len(work) == 1 or workers == 1:
        for number, sources in enumerate(work):
            yield number, _batch.take(plan, sources)
    else:
        yield from _here(plan, work, min(workers, len(work)))


def _commit(lake: Lake, plan: _batch.Plan, sources: list[Source], outcome: dict) -> dict:
    """Commits a batch; where another ingest took some of it meanwhile, makes it again without that."""
    while True:
        try:
            lake.commit(outcome["staged"], outcome["identities"])
            return outcome
        except Overlap:
            for file in outcome["staged"]:
                os.unlink(file["staged"])
            outcome = _batch.take(plan, sources)


@dataclasses.dataclass(frozen=True)
class Wishes:
    """How an ingest is done. `labels`: job, device_model and cohort, None where not given."""

    labels: dict
    replay: str | None = None
    token_key: str | None = None
    with_events: bool = True
    engine: str = "duckdb"
    workers: int | None = None
    address: str | None = None
    batch_files: int = BATCH_FILES


def ingest(paths: list[str], lake: Lake, wishes: Wishes, progress=lambda done, of: None) -> Outcome:
    """Takes everything below `paths` into the lake. Raises Stopped."""
    sources, unseen = find(paths)
    work = batches(sources, wishes.batch_files)
    outcome = Outcome(len(sources), {}, [], unseen)
    if not work:
        return outcome
    with lake.staging() as staging:
        plan = _batch.Plan(lake.folder, staging, wishes.labels, wishes.replay, wishes.token_key, wishes.with_events)
        for number, (index, made) in enumerate(_run(plan, work, wishes.engine, wishes.workers, wishes.address), 1):
            made = _commit(lake, plan, work[index], made)
            outcome.rejected += map(tuple, made["rejected"])
            for name, count in made["counts"].items():
                outcome.counts[name] = outcome.counts.get(name, 0) + count
            progress(number, len(work))
    outcome.rejected.sort()
    return outcome
