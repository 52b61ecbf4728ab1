# SPDX-License-Identifier: Apache-2.0
"""A verified job receipt (docs/job.md) as one row of the lake: which process failed first, and what became of the others."""

from __future__ import annotations

from . import _checks, _columns, _rows
from ._checks import Rejected


def _process(entry: dict) -> dict:
    row = _rows.copied(_columns.PROCESS, entry, "processes.")
    verdict = entry.get("verdict") or {}
    try:
        exit_status = verdict.get("exit_status")
        row["class"] = _rows.class_of(exit_status, row["primary"], _checks.words(verdict.get("qualifiers") or []))
    except (TypeError, AttributeError):
        raise Rejected("type", "processes.verdict") from None
    return row


def row_of(document: dict, digest: str, source_sha256: str, labels: dict) -> dict:
    """Raises Rejected where a value is not what its column may hold."""
    row = {**_rows.copied(_columns.JOBS, document), "job_digest": digest, "source_sha256": source_sha256, "job": labels["job"]}
    row["processes"] = [_process(entry) for entry in _rows.rows_at(document, "processes")]
    first = next((one for one in row["processes"] if row["first_process"] is not None and one["process"] == row["first_process"]), None)
    row["first_rank"], row["first_class"] = (first["rank"], first["class"]) if first else (None, None)
    row["day"] = _rows.day_of(row["instant_unix_ns"])
    known = first is not None and row["instant_unix_ns"] is not None
    row["case_id"] = _rows.short_hash([row["instant_unix_ns"], row["world_size"], row["first_rank"]]) if known else digest[:32]
    return row
