# SPDX-License-Identifier: Apache-2.0
"""The same work on a Ray cluster, by Ray Data. The rule: tasks only stage or count, so one that was lost with its worker is run again and changes
nothing; the lake and the sources lie in folders that every node sees, and memsnap is installed there."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket

from . import _batch, _counting, _views
from ._lake import Unusable
from ._sources import Source

_FILES_A_PART = 64
_OBJECT_STORE_BYTES = 256 << 20
_CONNECT_SECONDS = 5


def _check_address(address: str) -> None:
    """Ray itself waits for minutes for a cluster that is not there."""
    from ._ingest import Stopped

    host, _, port = address.rpartition("//")[2].rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise Stopped(f"no Ray cluster at {address}: {getattr(error, 'strerror', None) or error}") from None


@contextlib.contextmanager
def _cluster(address: str | None, workers: int | None):
    """Ray Data on a cluster that is there, or on one that is started here and ended again; quiet and without reports to anybody."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    import ray.data  # sets up its own logging

    from ._ingest import Stopped, cores

    if address is not None:
        _check_address(address)
    if not ray.is_initialized():
        options = {"logging_level": "ERROR", "log_to_driver": False, "include_dashboard": None if address else False}
        if address is None:
            options.update(num_cpus=workers or cores(), object_store_memory=_OBJECT_STORE_BYTES)
        try:
            ray.init(address=address, **{name: value for name, value in options.items() if value is not None})
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Stopped(f"no Ray cluster at {address}: {error}" if address else f"Ray does not start: {error}") from None
        started = True
    else:
        started = False
    try:
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        yield ray
    except ray.exceptions.RayError as error:
        raise Stopped(f"Ray gave up: {str(error).strip().splitlines()[-1]}") from None
    finally:
        if started:
            ray.shutdown()


def _results(ray, items: list[dict], function, workers: int | None):
    """`function` of each item, in any order, each in a task that Ray runs again when its worker is lost; at most `workers` at a time."""
    work = ray.data.from_items(items, override_num_blocks=len(items)).map(function, num_cpus=1, concurrency=workers and min(workers, len(items)))
    yield from work.iter_rows()


def _texts(ray, items: list[dict], function, workers: int | None):
    """The text that `function` makes of each item. Raises Unusable where it does: Ray would log the exception, and hide it in one of its own."""

    def said(item: dict) -> dict:
        try:
            return {"text": function(item), "damage": ""}
        except Unusable as error:
            return {"text": "", "damage": str(error)}

    for row in _results(ray, items, said, workers):
        if row["damage"]:
            raise Unusable(row["damage"])
        yield row["text"]


def batches(plan: _batch.Plan, work: list[list[Source]], workers: int | None, address: str | None):
    """Outcomes of _batch.take with the number of their batch, in any order."""

    def take(item: dict) -> dict:
        return {"number": item["number"], "outcome": json.dumps(_batch.take(plan, [Source(**source) for source in json.loads(item["sources"])]))}

    items = [{"number": number, "sources": json.dumps([vars(source) for source in sources])} for number, sources in enumerate(work)]
    with _cluster(address, workers) as ray:
        for row in _results(ray, items, take, workers):
            yield row["number"], json.loads(row["outcome"])


def counts(files: list[str], workers: int | None, address: str | None) -> dict[str, dict[tuple, int]]:
    """What _views.count_files says of all files, added up from parts."""
    parts = [files[at : at + _FILES_A_PART] for at in range(0, len(files), _FILES_A_PART)]
    if not parts:
        return _views.added([])

    def cases(item: dict) -> str:
        return json.dumps(_views.repeated_cases(json.loads(item["files"]), threads=1))

    with _cluster(address, workers) as ray:
        items = [{"files": json.dumps(part)} for part in parts]
        found = (tuple(case) for text in _texts(ray, items, cases, workers) for case in json.loads(text))
        left_out = ray.put(_counting.left_out(found))

        def count(item: dict) -> str:
            return _views.packed(_views.count_files(json.loads(item["files"]), ray.get(left_out), threads=1))

        return _views.added(map(_views.unpacked, _texts(ray, items, count, workers)))
