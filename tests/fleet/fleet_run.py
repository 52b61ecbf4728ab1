# SPDX-License-Identifier: Apache-2.0
"""The command as users give it, what goes into it and what is in a lake."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
REPLAY, ENCODE = BUILD / "replay/memsnap-replay", BUILD / "fixtures/encode/memsnap-encode"
sys.path.insert(0, str(TOP / "python"))


def environment(**more) -> dict:
    return {**os.environ, "PYTHONPATH": str(TOP / "python"), "MEMSNAP_REPLAY": str(REPLAY), "RAY_USAGE_STATS_ENABLED": "0", **more}


def start(*arguments, **more) -> subprocess.Popen:
    command = [sys.executable, "-m", "memsnap", "fleet", *map(str, arguments)]
    return subprocess.Popen(command, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fleet(*arguments, status: int = 0, **more) -> str:
    """What the command prints; it must end with `status`."""
    process = start(*arguments, **more)
    try:
        out, err = process.communicate(timeout=400)
    finally:
        process.kill()
    assert process.returncode == status, out + err
    assert "Traceback" not in err, err
    return out + err


def query(lake, sql: str) -> list[dict]:
    return [json.loads(line) for line in fleet("query", lake, sql, "--json").splitlines()]


def report(lake, *options) -> dict:
    return json.loads(fleet("report", lake, "--json", *options))


def recording(case: str, ring: pathlib.Path, more: str = "") -> pathlib.Path:
    """The recording of a case of fixtures/, with lines of the header added."""
    first, _, rest = (TOP / "fixtures" / case / "events.txt").read_text().partition("\n")
    done = subprocess.run([ENCODE, "-", ring], input=f"{first}\n{more}\n{rest}", text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ring


def receipt(case: str, folder: pathlib.Path, more: str = "", ledger: bool = False) -> pathlib.Path:
    """The receipt of such a recording, and its ledger beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    ring, path = recording(case, folder / f"{case}.ring", more), folder / f"{case}.json"
    options = ["--csv", folder / f"{case}.csv"] if ledger else []
    done = subprocess.run([REPLAY, ring, "--json", path, *options], capture_output=True, text=True)
    assert done.returncode in (0, 10, 11), done.stderr
    ring.unlink()
    return path


def sealed_again(path: pathlib.Path, to: pathlib.Path, change) -> None:
    """A receipt whose document `change` has altered, with valid digests."""
    from memsnap.fleet import _receipt

    document = json.loads(path.read_text())
    change(document)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(_receipt.sealed({key: _receipt.canonical(value) for key, value in document.items() if key != "digest"}))


def same_key(lake: pathlib.Path, other: pathlib.Path) -> pathlib.Path:
    """A new lake whose tokens are those of the first: what is in them can be compared."""
    other.mkdir()
    shutil.copy(lake / "memsnap-lake.json", other)
    return other


def contents(lake: pathlib.Path) -> dict[str, list[str]]:
    """Every row of every table as text, sorted."""
    import pyarrow.parquet as parquet

    found = {}
    for table in ("receipts", "events", "jobs", "rejected"):
        rows = []
        for file in sorted((lake / table).rglob("*.parquet")):
            rows += [json.dumps(row, default=str, sort_keys=True) for row in parquet.read_table(file, partitioning=None).to_pylist()]
        found[table] = sorted(rows)
    return found
