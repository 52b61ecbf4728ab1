# SPDX-License-Identifier: Apache-2.0
"""What a fleet of ten thousand ranks costs to collect and to ask about on two cores: by DuckDB and by Ray, beside a plain loop over the JSON."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
RANKS = int(os.environ.get("MEMSNAP_BENCH_RANKS", "10000"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TOP / "python"), "RAY_USAGE_STATS_ENABLED": "0"}


def _children(pid: int) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, task.read_text().split()):
                found += [child, *_children(child)]
        except OSError:
            continue
    return found


def _resident_kb(pid: int) -> int:
    """Proportionally: what processes share counts once."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def timed(*arguments) -> tuple[float, float, str]:
    """Seconds, the most MiB of the command and all its processes together (looked at ten times a second), and what it printed."""
    start, most_kb = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, *map(str, arguments)], env=ENVIRONMENT, stdout=out)
        while process.poll() is None:
            most_kb = max(most_kb, sum(map(_resident_kb, [process.pid, *_children(process.pid)])))
            time.sleep(0.1)
        elapsed = time.perf_counter() - start
        assert process.returncode == 0, arguments
        out.seek(0)
        return elapsed, most_kb / 1024, out.read()


def fleet(*arguments):
    return timed("-m", "memsnap", "fleet", *arguments)


def plain_loop(folder: pathlib.Path) -> tuple[float, collections.Counter]:
    """The least that reads the same files: parsed, not verified, and only the classes counted."""
    start, found = time.perf_counter(), collections.Counter()
    for path in folder.rglob("*.json"):
        verdict = json.loads(path.read_text())["verdict"]
        if verdict["exit_status"]:
            found[verdict["primary"]] += 1
    return time.perf_counter() - start, found


def main() -> None:
    os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:2]))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "simulated")
        fleet("simulate", "--ranks", RANKS, "--to", source)
        truth = json.loads((source / "truth.json").read_text())
        loop_s, _ = plain_loop(source / "receipts")
        print(f"{RANKS} ranks of {truth['totals']['jobs']} jobs, {truth['files']['receipts']} receipts, on two cores")
        print(f"  a plain loop over the JSON, one question   {loop_s:8.2f} s")
        reports = {}
        for engine in ("duckdb", "ray"):
            lake, options = pathlib.Path(folder, engine), ("--engine", engine, "--workers", 2)
            ingest_s, ingest_mb, _ = fleet("ingest", source / "receipts", "--to", lake, *options)
            report_s, report_mb, text = fleet("report", lake, "--json", *options)
            reports[engine] = json.loads(text)
            print(f"  {engine:7} ingested, verified                 {ingest_s:8.2f} s  {ingest_mb:6.0f} MB  {ingest_s / loop_s:6.2f} times the loop")
            print(f"  {engine:7} all questions of a report          {report_s:8.2f} s  {report_mb:6.0f} MB  {report_s / loop_s:6.2f} times the loop")
            totals = reports[engine]["totals"]
            assert {name: totals[name] for name in truth["totals"]} == truth["totals"], "the report is not the truth"
        assert reports["duckdb"] == reports["ray"], "the engines disagree"
        print("  both reports are equal, and are the truth of the simulation")


if __name__ == "__main__":
    main()
