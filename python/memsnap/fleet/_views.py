# SPDX-License-Identifier: Apache-2.0
"""A lake as DuckDB sees it: views over the committed files, and the counts that a report is made of. The rule: each count is a sum over runs, so that
parts of a lake can be counted anywhere and added up, and the sums are the same.

`runs` has one row for each case: of several receipts of one failure the one that was taken last counts, then the one with most tokens of scope
`key`, then the one whose id sorts first."""

from __future__ import annotations

import contextlib
import json
import os
import re

from . import _columns
from ._lake import TABLES, Lake, Unusable

_LAST_TAKEN = "last_record_unix_ns DESC NULLS LAST, keyed_site_count DESC, receipt_id"
ONE_RECEIPT_A_CASE = f"SELECT * FROM receipts QUALIFY row_number() OVER (PARTITION BY case_id ORDER BY {_LAST_TAKEN}) = 1"

# The card's size as people name cards; to a hundredth of a GiB, by integers.
DEVICE = """coalesce(device_model, CASE WHEN card_bytes IS NOT NULL THEN
    printf('%d.%02d GiB card', (card_bytes * 100 // 1073741824)::BIGINT // 100, (card_bytes * 100 // 1073741824)::BIGINT % 100) END)"""

# Of several job receipts of one failure the one that knows most processes counts.
FIRST_FAILURES = """SELECT first_rank, first_class, first_is_told, world_size, day, job, case_id FROM jobs WHERE first_process IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY case_id ORDER BY process_count DESC, job_digest) = 1"""

DERIVED = {
    "runs": ONE_RECEIPT_A_CASE,
    "incidents": "SELECT * FROM runs WHERE has_incident",
    "hypotheses": "SELECT receipt_id, case_id, day, job, rank, unnest(hypotheses, recursive := true) FROM incidents",
    "sites": "SELECT receipt_id, case_id, day, job, rank, class, unnest(sites, recursive := true) FROM incidents",
    "near_misses": "SELECT receipt_id, case_id, day, job, rank, unnest(near_misses, recursive := true) FROM runs",
    "libraries": "SELECT receipt_id, case_id, day, job, rank, unnest(libraries, recursive := true) FROM incidents",
    "first_failures": FIRST_FAILURES,
    "processes": "SELECT job_digest, case_id, day, job, unnest(processes, recursive := true) FROM jobs",
}
# A file that could not be taken once may have been taken since: by a newer memsnap, with a replay tool, beside its own receipt.
_STILL_REJECTED = "SELECT * FROM all_rejected WHERE source_sha256 IS NULL OR source_sha256 NOT IN (SELECT source_sha256 FROM taken)"

DIMENSIONS = ("device", "torch_version", "allocator", "cuda_runtime_version", "cuda_driver_version", "python_version", "world_size", "cohort")
# name -> (what a row is told by, the query of rows and their count)
COUNTS = {
    "runs": (
        ("day", "job", "class", *DIMENSIONS),
        f"""SELECT day::VARCHAR, job, class, {DEVICE} AS device, torch_version, allocator, cuda_runtime_version, cuda_driver_version, python_version,
            world_size, cohort, count(*) FROM runs GROUP BY ALL""",
    ),
    "near_misses": (("day", "job"), "SELECT day::VARCHAR, job, count(*) FROM runs WHERE len(near_misses) > 0 GROUP BY ALL"),
    "sites": (
        ("day", "job", "class", "site", "scope"),
        "SELECT day::VARCHAR, job, class, top_site_token, top_site_scope, count(*) FROM runs WHERE has_incident GROUP BY ALL",
    ),
    "judged": (
        ("day", "hypothesis", "status", "probe"),
        """SELECT day::VARCHAR, hypothesis, status, probe, count(*) FROM
            (SELECT day, unnest(hypotheses, recursive := true) FROM runs WHERE has_incident) GROUP BY ALL""",
    ),
    "ranks": (("day", "job", "rank"), "SELECT day::VARCHAR, job, rank, count(*) FROM runs WHERE has_incident GROUP BY ALL"),
}
# What the counts need of a receipt; nothing else is read for a report.
NEEDED = (
    "receipt_id case_id day job device_model cohort torch_version python_version cuda_runtime_version cuda_driver_version world_size rank allocator "
    "has_incident class card_bytes last_record_unix_ns keyed_site_count top_site_token top_site_scope hypotheses near_misses"
).split()


def connect(threads: int | None = None, memory: str | None = None):
    """An empty database in memory that keeps to `threads` and `memory` (such as 2GiB)."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    connection.execute("SET temp_directory = ''")  # nothing of a lake is spilled into a folder that others may read
    connection.execute(f"SET threads = {int(threads or len(os.sched_getaffinity(0)))}")
    if memory:
        if not re.fullmatch(r"[0-9]{1,6}[KMGT]i?B", memory):
            raise Unusable(f"{memory} is no size: write for instance 2GiB")
        connection.execute(f"SET memory_limit = '{memory}'")
    return connection


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def reading(files: list[str]) -> str:
    """What stands behind FROM. A column that older files do not have is null in them."""
    return f"read_parquet([{', '.join(map(quoted, files))}], union_by_name = true, hive_partitioning = false)"


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@contextlib.contextmanager
def damage_told():
    """What DuckDB says of the lake's files, as Unusable."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise Unusable(f"a file of the lake cannot be read ({first_line(error)}): restore it, or ingest into another folder") from None


def _table(connection, name: str, contents) -> None:
    """A table of Arrow's as one of the database."""
    connection.register("given", contents)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    connection.unregister("given")


@damage_told()
def open_tables(lake: Lake, names=TABLES, threads: int | None = None, memory: str | None = None):
    """A connection with the lake's tables as they are stored, but for what was `rejected` and taken since; all of that is `all_rejected`. One without
    a file is empty, with its columns. Raises Unusable."""
    import pyarrow as pa

    connection = connect(threads, memory)
    schemas = {"receipts": _columns.RECEIPTS, "jobs": _columns.JOBS, "rejected": _columns.REJECTED}
    for name in names:
        files, view = lake.files(name), "all_rejected" if name == "rejected" else name
        if files:
            connection.execute(f"CREATE VIEW {view} AS SELECT * FROM {reading(files)}")
        else:
            schema = _columns.events_schema() if name == "events" else _columns.schema(schemas[name])
            _table(connection, view, schema.empty_table())
    if "rejected" in names:
        _table(connection, "taken", pa.table({"source_sha256": pa.array(sorted(lake.known()["sources"]), pa.string())}))
        connection.execute(f"CREATE VIEW rejected AS {_STILL_REJECTED}")
    return connection


@damage_told()
def open_lake(lake: Lake, threads: int | None = None, memory: str | None = None):
    """A connection with all tables and views of the lake."""
    connection = open_tables(lake, threads=threads, memory=memory)
    for view, text in DERIVED.items():
        connection.execute(f"CREATE VIEW {view} AS {text}")
    return connection


@damage_told()
def count_files(files: list[str], left_out: list[str] = (), threads: int | None = None, memory: str | None = None) -> dict[str, dict[tuple, int]]:
    """Of each of COUNTS: key -> how many runs, in these files of receipts, those with the ids `left_out` not counted."""
    connection = connect(threads, memory)
    if not files:
        return {name: {} for name in COUNTS}
    columns = ", ".join(NEEDED)
    connection.execute(
        f"CREATE TABLE receipts AS SELECT {columns} FROM {reading(files)} WHERE receipt_id NOT IN (SELECT unnest(?::VARCHAR[]))", [list(left_out)]
    )
    connection.execute(f"CREATE TABLE runs AS {ONE_RECEIPT_A_CASE}")
    return {name: {tuple(row[:-1]): row[-1] for row in connection.execute(query).fetchall()} for name, (_, query) in COUNTS.items()}


@damage_told()
def repeated_cases(files: list[str], threads: int | None = None) -> list[tuple]:
    """Of these files: (case_id, receipt_id, last_record_unix_ns, keyed_site_count) of each receipt, to find those that tell of one case."""
    return connect(threads).execute(f"SELECT case_id, receipt_id, last_record_unix_ns, keyed_site_count FROM {reading(files)}").fetchall()


def added(parts) -> dict[str, dict[tuple, int]]:
    """The sum of counts of parts of a lake, no run being in two of them."""
    total = {name: {} for name in COUNTS}
    for part in parts:
        for name, rows in part.items():
            for key, number in rows.items():
                total[name][key] = total[name].get(key, 0) + number
    return total


def packed(counts: dict) -> str:
    """As text, to be sent between machines."""
    return json.dumps({name: [[*key, number] for key, number in rows.items()] for name, rows in counts.items()})


def unpacked(text: str) -> dict:
    return {name: {tuple(row[:-1]): row[-1] for row in rows} for name, rows in json.loads(text).items()}
