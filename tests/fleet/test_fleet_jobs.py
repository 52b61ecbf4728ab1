# SPDX-License-Identifier: Apache-2.0
"""Job receipts in a lake: which rank failed first, and what became of the others."""

import hashlib
import json

from fleet_run import fleet, query, report

NOON = 1_780_000_000_000_000_000
LEVELS = dict.fromkeys(("active_bytes", "reserved_bytes", "outside_bytes", "device_used_bytes"))


def _process(ordinal: int, rank: int, role: str, verdict: dict, failed_ns, receipt) -> dict:
    return {
        "process": ordinal,
        "rank": rank,
        "local_rank": rank,
        "host": 1,
        "role": role,
        "order": "told",
        "incident": "fatal" if failed_ns is not None else "none",
        "verdict": verdict,
        "device": 0,
        "failed_ns": failed_ns,
        "first_seen_ns": -5,
        "last_seen_ns": 7,
        "exit_seen": False,
        "exit_status": None,
        "held_by": [],
        "levels": {**LEVELS, "observation_age_ns": None},
        "peaks": LEVELS,
        "steps": {"family": "step", "point_count": 0, "rise_bytes": None},
        "receipt": receipt,
    }


def _text(value) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def job_receipt(path, first_rank: int, instant_ns: int, ranks: int = 4, answer: bool = False, told: bool = True) -> None:
    """A job receipt of docs/job.md: one rank fails first, the next fails later, the others follow."""
    failed = (
        {"primary": None, "qualifiers": ["cache_hoarding", "fatal"], "exit_status": 10}
        if answer
        else {"primary": "retention", "qualifiers": ["fatal"], "exit_status": 10}
    )
    well, processes = {"primary": None, "qualifiers": [], "exit_status": 0}, []
    for rank in range(ranks):
        role, verdict, failed_ns = ("failed_first", failed, 0) if rank == first_rank else ("followed", well, None)
        processes.append(_process(rank + 1, rank, role, verdict, failed_ns, f"{rank:064x}"))
    document = {
        "schema": "memsnap.job.v1",
        "job": {
            "process_count": ranks,
            "unread_count": 0,
            "host_count": 1,
            "world_size": 4,
            "rank_count": ranks,
            "missing": [],
            "clocks_within_ns": 0,
        },
        "first": {"process": first_rank + 1, "told": told, "rivals": [], "clocks_compared": False},
        "instant": "failure",
        "processes": processes,
        "skew": [],
        "exit_status": 10,
        "removed_fields": [],
    }
    document["digest"] = {"algorithm": "sha256", "job": hashlib.sha256(_text(document)).hexdigest()}
    document["times"] = {"instant_unix_ns": str(instant_ns)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_text(document))


def test_a_report_says_which_ranks_fail_first_and_of_what(tmp_path):
    folder, lake = tmp_path / "jobs", tmp_path / "lake"
    job_receipt(folder / "a/job.json", 2, NOON)
    job_receipt(folder / "b/job.json", 2, NOON + 1, told=False)
    job_receipt(folder / "c/job.json", 0, NOON + 2, answer=True)
    job_receipt(folder / "a/earlier.json", 2, NOON, ranks=3)  # the same failure, seen when less was there
    (folder / "d").mkdir()
    (folder / "d/job.json").write_bytes((folder / "a/job.json").read_bytes().replace(b'"rank_count":4', b'"rank_count":5'))
    told = fleet("ingest", folder, "--to", lake, status=1)
    again = fleet("ingest", folder, "--to", lake, status=1)

    assert "4 job receipts" in told and "d/job.json: digest_job" in told and "0 job receipts" in again
    assert report(lake)["first_failures"] == [
        {"rank": 2, "jobs": 2, "most_class": "retention", "uncertain_jobs": 1},
        {"rank": 0, "jobs": 1, "most_class": "cache_hoarding", "uncertain_jobs": 0},
    ]
    assert report(lake, "--until", "2020-01-01")["first_failures"] == []
    assert "rank 2" in fleet("report", lake)


def test_each_process_is_a_row_that_leads_to_its_own_receipt(tmp_path):
    job_receipt(tmp_path / "jobs/job.json", 1, NOON)
    fleet("ingest", tmp_path / "jobs", "--to", tmp_path / "lake")

    rows = query(tmp_path / "lake", "SELECT rank, role, class, failed_ns, receipt_digest FROM processes ORDER BY rank")
    assert [(row["rank"], row["role"], row["class"], row["failed_ns"]) for row in rows] == [
        (0, "followed", None, None),
        (1, "failed_first", "retention", 0),
        (2, "followed", None, None),
        (3, "followed", None, None),
    ]
    assert [row["receipt_digest"] for row in rows] == [f"{rank:064x}" for rank in range(4)]
