# SPDX-License-Identifier: Apache-2.0
"""The counts of a lake for a report, made here by DuckDB or in parts on a Ray cluster. The rule: both read the same committed files and count by
the same SQL (_views.py); the parts leave out the receipts that another part's tells better."""

from __future__ import annotations

from . import _report, _views
from ._lake import Lake


def left_out(receipts) -> list[str]:
    """Of (case_id, receipt_id, last_record_unix_ns, keyed_site_count) from all parts: the ids that do not count, because another receipt of their
    case does. The order is that of _views.ONE_RECEIPT_A_CASE."""
    best, lost = {}, []
    for case, receipt, last, keyed in receipts:
        order = (last is None, -(last or 0), -keyed, receipt)
        kept = best.setdefault(case, order)
        if order < kept:
            best[case] = order
            lost.append(kept[-1])
        elif order != kept:
            lost.append(receipt)
    return sorted(lost)


@_views.damage_told()
def _rejected_count(connection) -> int:
    return connection.execute("SELECT count(DISTINCT source_token) FROM rejected").fetchone()[0]


@_views.damage_told()
def _first_failures(connection, since: str | None, until: str | None) -> list[dict]:
    """By rank: in how many jobs it was the first to fail, and of which class most often."""
    rows = connection.execute(
        f"""SELECT first_rank, first_class, count(*), count(*) FILTER (NOT first_is_told) FROM ({_views.FIRST_FAILURES})
            WHERE ($1 IS NULL OR day >= $1::DATE) AND ($2 IS NULL OR day <= $2::DATE) GROUP BY ALL""",
        [since, until],
    ).fetchall()
    found = {}
    for rank, name, jobs, uncertain in sorted(rows, key=lambda row: (-row[2], row[1] or "")):
        entry = found.setdefault(rank, {"rank": rank, "jobs": 0, "most_class": name, "uncertain_jobs": 0})
        entry["jobs"] += jobs
        entry["uncertain_jobs"] += uncertain
    return sorted(found.values(), key=lambda entry: (-entry["jobs"], entry["rank"] is None, entry["rank"] or 0))


def report(lake: Lake, since: str | None, until: str | None, engine: str, workers: int | None, address: str | None) -> dict:
    files = lake.files("receipts")
    if engine == "ray":
        from . import _ray

        counts = _ray.counts(files, workers, address)
    else:
        counts = _views.count_files(files, threads=workers)
    connection = _views.open_tables(lake, ("jobs", "rejected"))
    return _report.make(counts, _rejected_count(connection), _first_failures(connection, since, until), since, until)
