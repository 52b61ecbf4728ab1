# SPDX-License-Identifier: Apache-2.0
"""What gets into a lake, exactly once, whatever happens to the ingest."""

import json
import os
import re
import shutil
import signal
import stat
import time

import pyarrow.parquet as parquet
from fleet_run import TOP, contents, fleet, query, receipt, recording, report, same_key, sealed_again, start


def test_a_fleet_is_taken_whole_and_taking_it_again_adds_nothing(simulated, truth, lake):
    before = contents(lake)
    again = fleet("ingest", simulated / "receipts", "--to", lake, "--batch", 77)

    assert len(before["receipts"]) == truth["files"]["receipts"]
    assert len({json.loads(row)["ledger_id"] for row in before["events"]}) == truth["files"]["ledgers"]
    assert f"{truth['files']['receipts'] + truth['files']['ledgers']} were there already" in again
    assert contents(lake) == before


def test_a_row_has_the_numbers_of_the_receipt_exactly_and_null_where_it_has_null(tmp_path):
    cases = ("retention", "corrupt_size", "nothing_observed", "recovered")
    paths = {case: receipt(case, tmp_path / "receipts") for case in cases}
    fleet("ingest", tmp_path / "receipts", "--to", tmp_path / "lake")

    rows = {row["receipt_digest"]: row for row in query(tmp_path / "lake", "SELECT * FROM runs")}
    for path in paths.values():
        document = json.loads(path.read_text())
        row, evidence = rows[document["digest"]["receipt"]], document["evidence"]
        ledgers = evidence["ledgers"] or {}
        for name in ("device_free_bytes", "reserved_bytes", "margin_bytes", "cap_bytes", "largest_free_extent_bytes"):
            assert row[name] == (None if ledgers.get(name) is None else int(ledgers[name])), name
        assert row["request_bytes"] == (int(evidence["failure"]["request_bytes"]) if evidence["failure"] else None)
        assert [site["bytes"] for site in row["sites"]] == [site["bytes"] for site in evidence["sites"] or []]
        assert {one["hypothesis"]: one["status"] for one in row["hypotheses"]} == {
            name: one["status"] for name, one in (document["verdict"]["hypotheses"] or {}).items()
        }
        assert row["torch_version"] == "2.14.1" and row["rank"] is None and row["day"] is None
    assert max(row["request_bytes"] or 0 for row in rows.values()) > 1 << 53
    leaking = next(row for row in rows.values() if row["class"] == "retention")
    assert [(site["survivor_bytes"], site["survivor_bytes_per_step"]) for site in leaking["sites"]] == [(None, None), (25165824, 6291456)]
    assert leaking["top_site_token"] == leaking["sites"][1]["token"]


def _timed(path, to, failure_ns, last_ns, reference=False):
    def change(document):
        document["times"] = {
            "failure_unix_ns": str(failure_ns),
            "first_record_unix_ns": str(failure_ns - 10**12),
            "last_record_unix_ns": str(last_ns),
        }
        if reference:
            document["references"] = [{"kind": "log", "sha256": "0" * 64, "size_bytes": 1}]

    sealed_again(path, to, change)


NOON = 1_780_000_000_000_000_000


def test_receipts_of_one_failure_count_once_and_the_same_failure_at_another_time_is_another(tmp_path):
    path = receipt("live_set", tmp_path / "made")
    _timed(path, tmp_path / "receipts/a.json", NOON, NOON + 1)
    _timed(path, tmp_path / "receipts/b.json", NOON, NOON + 2, reference=True)  # another receipt of it, taken later
    _timed(path, tmp_path / "receipts/c.json", NOON + 86_400 * 10**9, NOON + 86_401 * 10**9)
    fleet("ingest", tmp_path / "receipts", "--to", tmp_path / "lake")

    assert query(tmp_path / "lake", "SELECT count(*) AS n FROM receipts") == [{"n": 3}]
    assert query(tmp_path / "lake", "SELECT last_record_unix_ns AS last FROM incidents ORDER BY 1") == [
        {"last": NOON + 2},
        {"last": NOON + 86_401 * 10**9},
    ]
    assert report(tmp_path / "lake")["totals"]["incidents"] == 2
    assert query(tmp_path / "lake", "SELECT count(*) AS n FROM hypotheses") == [{"n": 8}]


def test_two_ingests_at_once_take_everything_once(simulated, truth, lake, tmp_path):
    both = same_key(lake, tmp_path / "both")
    processes = [start("ingest", simulated / "receipts", "--to", both, "--batch", batch, "--workers", 1) for batch in (90, 130)]
    outputs = [process.communicate(timeout=400) for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert contents(both) == contents(lake)
    taken = [int(re.search(r"(\d+) receipts", out).group(1)) for out, _ in outputs]
    assert sum(taken) == truth["files"]["receipts"]


def test_an_ingest_that_was_killed_left_no_half_and_the_next_takes_the_rest(simulated, lake, tmp_path):
    other = same_key(lake, tmp_path / "other")
    process = start("ingest", simulated / "receipts", "--to", other, "--batch", 100, "--workers", 1)
    while process.poll() is None and len(list((other / "_commits").glob("*.json"))) < 2:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    listed = [file for commit in (other / "_commits").glob("*.json") for file in json.loads(commit.read_text())["files"]]
    counted = query(other, "SELECT count(*) AS n FROM receipts")[0]["n"]

    assert process.returncode == -signal.SIGKILL and 0 < counted < len(contents(lake)["receipts"])
    assert counted == sum(file["rows"] for file in listed if file["table"] == "receipts")

    fleet("ingest", simulated / "receipts", "--to", other, "--batch", 100)
    assert contents(other) == contents(lake)
    assert list((other / "_staging").iterdir()) == []


def test_a_recording_is_taken_as_its_receipt_and_its_ledger_would_be(tmp_path):
    for case in ("retention", "external"):
        receipt(case, tmp_path / "exports", ledger=True)
        (tmp_path / "rings").mkdir(exist_ok=True)
        recording(case, tmp_path / f"rings/{case}.bin")
    (tmp_path / "rings/pytorch_model.bin").write_bytes(b"PK\3\4 weights")
    damaged = bytearray((tmp_path / "rings/external.bin").read_bytes())
    damaged[8:12] = b"\xff\xff\xff\xff"
    (tmp_path / "rings/newer.bin").write_bytes(damaged)
    told = fleet("ingest", tmp_path / "exports", "--to", tmp_path / "one")
    assert "2 receipts, 2 event ledgers" in told
    told = fleet("ingest", tmp_path / "rings", "--to", tmp_path / "other", status=1)
    assert "2 receipts, 2 event ledgers" in told and "1 are not memsnap's" in told and "newer.bin: not_a_recording" in told

    columns = "receipt_id, class, request_bytes, margin_bytes, sites"
    assert query(tmp_path / "one", f"SELECT {columns} FROM runs ORDER BY 1") == query(tmp_path / "other", f"SELECT {columns} FROM runs ORDER BY 1")
    events = "SELECT * EXCLUDE (job) FROM events ORDER BY ledger_id, ticket"
    assert query(tmp_path / "one", events) == query(tmp_path / "other", events) != []
    assert query(tmp_path / "one", "SELECT count(*) AS n FROM events WHERE receipt_id NOT IN (SELECT receipt_id FROM receipts)") == [{"n": 0}]


def test_a_ledger_has_every_cell_of_the_csv_and_null_for_its_empty_ones(tmp_path):
    path = receipt("six_part", tmp_path / "receipts", ledger=True)
    lines = [line.split(",") for line in path.with_suffix(".csv").read_text().splitlines()]
    fleet("ingest", tmp_path / "receipts", "--to", tmp_path / "lake")

    rows = query(tmp_path / "lake", "SELECT * FROM events ORDER BY ticket")
    assert [["" if row[name] is None else str(row[name]) for name in lines[0]] for row in rows] == lines[1:]


def test_nothing_readable_gets_into_a_lake_unless_it_is_asked_for(tmp_path):
    folder = tmp_path / "secretproject/secretjob"
    path = receipt("retention", folder)
    (folder / "secretbroken.json").write_text("{")
    document = json.loads(path.read_text())
    document["names"] = {
        "dimensions": [],
        "libraries": [],
        "phases": [],
        "sites": [{"site": 1, "frames": [{"function": "secretfunction", "file": "secretfile.py", "line": 1}]}],
    }
    path.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))
    fleet("ingest", folder, "--to", tmp_path / "lake", status=1)
    fleet("ingest", receipt("external", tmp_path / "more"), "--to", tmp_path / "lake", "--label", "job=known", "--label", "device_model=H200")

    rows = str(contents(tmp_path / "lake"))
    texts = rows + "".join(file.read_text() for file in (tmp_path / "lake").rglob("*.json")) + " ".join(map(str, (tmp_path / "lake").rglob("*")))
    assert "secret" not in texts.replace(str(tmp_path), "")
    assert "known" in rows and "H200" in rows
    assert {
        row["device"]: row["n"] for row in query(tmp_path / "lake", "SELECT coalesce(device_model, '') AS device, count(*) AS n FROM runs GROUP BY 1")
    } == {"": 1, "H200": 1}


def test_the_files_of_a_lake_are_their_owners_alone(lake):
    modes = {stat.S_IMODE(path.stat().st_mode) for path in lake.rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in lake.rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_links_and_pipes_are_left_alone(tmp_path):
    path = receipt("external", tmp_path / "elsewhere")
    (tmp_path / "given").mkdir()
    (tmp_path / "given/link.json").symlink_to(path)
    (tmp_path / "given/folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "given/pipe.json")

    assert fleet("ingest", tmp_path / "given", "--to", tmp_path / "lake").startswith("0 files")


def test_a_folder_that_is_no_lake_is_left_as_it_is(tmp_path):
    path = receipt("external", tmp_path / "receipts")
    assert "neither empty nor a lake" in fleet("ingest", path, "--to", tmp_path, status=3)
    assert sorted(os.listdir(tmp_path)) == ["receipts"]
    assert "is no lake" in fleet("report", tmp_path / "nowhere", status=3)


def test_what_was_rejected_and_is_taken_later_does_not_count_as_rejected_any_more(tmp_path):
    folder, lake = tmp_path / "given", tmp_path / "lake"
    path = receipt("external", folder, ledger=True)
    other = receipt("retention", tmp_path / "other", ledger=True)
    recording("retention", folder / "ring.bin")
    path.rename(tmp_path / "kept.json")
    other.rename(path)  # the receipt of another beside the ledger
    (folder / "broken.json").write_text("{")

    def rejected() -> tuple:
        listed = [row["reason"] for row in query(lake, "SELECT reason FROM rejected ORDER BY 1")]
        return report(lake)["totals"]["rejected_files"], listed

    alone = {"MEMSNAP_REPLAY": str(tmp_path / "missing"), "PATH": "/nowhere"}
    lines = path.with_suffix(".csv").read_text().splitlines()
    late = [",".join([str(int(line.split(",")[0]) + 1000), *line.split(",")[1:]]) for line in lines[1:]]
    path.with_suffix(".csv").write_text("\n".join([lines[0], *late]) + "\n")
    fleet("ingest", folder, "--to", lake, status=1, **alone)
    assert rejected() == (3, ["ledger_of_another", "no_replay", "not_json"])

    path.unlink()
    fleet("ingest", folder, "--to", lake, status=1)
    assert rejected() == (1, ["not_json"])
    assert query(lake, "SELECT count(*) AS n FROM receipts") == [{"n": 1}]
    assert "0 receipts" in (again := fleet("ingest", folder, "--to", lake, status=1, **alone)) and "no_replay" not in again


def test_a_lake_whose_file_is_damaged_says_so(lake, tmp_path):
    for table, *asked in (("receipts", "report"), ("receipts", "report", "--engine", "ray"), ("events", "query", "SELECT 1")):
        copy = tmp_path / "-".join([table, *asked])
        shutil.copytree(lake, copy)
        damaged = next((copy / table).rglob("*.parquet"))
        damaged.write_bytes(damaged.read_bytes()[:-30])
        told = fleet(asked[0], copy, *asked[1:], status=3)
        assert f"{damaged}" in told and "restore it" in told and told.count("\n") == 1, told


def test_a_lake_that_lost_a_file_says_so(lake, tmp_path):
    shutil.copytree(lake, tmp_path / "lake")
    lost = next((tmp_path / "lake/receipts").rglob("*.parquet"))
    lost.unlink()
    assert f"{lost} is missing although a commit lists it" in fleet("report", tmp_path / "lake", status=3)


def test_the_files_lie_by_day_and_job_and_other_tools_read_them(lake):
    files = list((lake / "receipts").rglob("*.parquet"))
    for file in files[:20]:
        days, jobs = (set(parquet.read_table(file, columns=[name], partitioning=None).column(name).to_pylist()) for name in ("day", "job"))
        assert [file.parent.parent.name, file.parent.name] == [f"day={days.pop()}", f"job={jobs.pop()}"] and not days and not jobs
    assert len(files) > 20
    metadata = parquet.ParquetFile(files[0]).metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_columns_of_a_ledger_are_those_that_are_written(tmp_path):
    from memsnap.fleet import _columns

    path = receipt("external", tmp_path, ledger=True)
    assert path.with_suffix(".csv").read_text().splitlines()[0].split(",") == _columns.EVENTS


def enumerated(schema, name: str):
    """The texts that members of this name may have, anywhere in a JSON schema."""
    if isinstance(schema, list):
        for one in schema:
            yield from enumerated(one, name)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == name and isinstance(value, dict) and "anyOf" in value:
                yield from (text for one in value["anyOf"] for text in one.get("enum", ()))
            yield from enumerated(value, name)


def test_every_advice_of_the_receipts_schema_may_stand_in_a_lake():
    from memsnap.fleet import _checks

    schema = json.loads((TOP / "docs/receipt.schema.json").read_text())
    texts = {text for name in ("fix", "probe") for text in enumerated(schema, name)}
    assert len(texts) > 15
    assert {_checks.advice(text) for text in texts} == texts
