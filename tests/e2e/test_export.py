# SPDX-License-Identifier: Apache-2.0
"""What leaves the machine, of real recordings: receipts fit the published schema, follow from their ring, and are the same
whoever makes them and wherever; event ledgers follow from their ring row by row."""

import csv
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

from conftest import REPLAY, TOP

SCHEMA = json.loads((TOP / "docs/receipt.schema.json").read_text())
DISAGREED = 6


@pytest.fixture(scope="module")
def rings(module_bench) -> dict[str, pathlib.Path]:
    """A job that ran out of memory, one that two causes brought there, and one that ended well."""
    programs = {"fragmentation": ("fragmentation.py",), "external": ("external.py",), "well": ("no_failure.py",)}
    kept = {}
    for name, program in programs.items():
        job = module_bench.run(*program, MEMSNAP_RING_MB="8")
        for ring in job.rings:
            kept[f"{name}-{len(kept)}"] = ring.rename(module_bench.folder / f"{name}-{len(kept)}.bin.kept")
    return kept


def written(ring: pathlib.Path, *options: str, code: tuple[int, ...] = (0, 10, 11), **popen) -> str:
    done = subprocess.run([REPLAY, ring, *options], capture_output=True, text=True, timeout=120, **popen)
    assert done.returncode in code, done.stderr
    return done.stdout


def check(ring: pathlib.Path, option: str, text: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    path = folder / "to_check"
    path.write_text(text)
    return subprocess.run([REPLAY, "check", option, path, ring], capture_output=True, text=True, timeout=120)


def test_the_schema_is_a_schema_that_is_closed_throughout():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def objects(part):
        if isinstance(part, dict):
            if part.get("type") == "object":
                yield part
            for value in part.values():
                yield from objects(value)
        elif isinstance(part, list):
            for value in part:
                yield from objects(value)

    assert len(list(objects(SCHEMA))) > 20
    assert all(part["additionalProperties"] is False for part in objects(SCHEMA))


def test_receipts_of_real_rings_fit_the_schema_and_a_changed_one_does_not(rings):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for ring in rings.values():
        receipt = json.loads(written(ring, "--json", "-"))
        assert [error.message for error in validator.iter_errors(receipt)] == []
        for change in (
            lambda r: r["capture"].update(host="node-7"),
            lambda r: r["capture"].update(start_mode="alice"),
            lambda r: r["evidence"].pop("failure"),
            lambda r: r["evidence"].update(lost_failure_count=0.5),
            lambda r: r["environment"].update(torch_version="/opt/torch"),
            lambda r: r["digest"].update(evidence="0"),
        ):
            changed = json.loads(json.dumps(receipt))
            change(changed)
            assert not validator.is_valid(changed)


def test_a_receipt_follows_from_its_ring_and_a_changed_one_is_told(rings, tmp_path):
    for ring in rings.values():
        text = written(ring, "--json", "-")
        agreed = check(ring, "--receipt", text, tmp_path)
        assert agreed.returncode == 0 and agreed.stdout.startswith("OK") and agreed.stdout.count("\n") == 1, agreed.stderr
        changed = json.loads(text)
        changed["capture"]["lost_count"] += 1
        told = check(ring, "--receipt", json.dumps(changed), tmp_path)
        assert told.returncode == DISAGREED and "capture.lost_count: the receipt says 1, the recording 0" in told.stderr
    assert check(ring, "--receipt", "no receipt", tmp_path).returncode == 3


def test_a_ledger_follows_from_its_ring_and_a_ghost_is_told(rings, tmp_path):
    for ring in rings.values():
        text = written(ring, "--csv", "-")
        rows = list(csv.DictReader(text.splitlines(), strict=True))
        assert text.isascii() and "\r" not in text and text.endswith("\n") and len(rows) > 2
        assert [int(row["ticket"]) for row in rows] == sorted({int(row["ticket"]) for row in rows})
        agreed = check(ring, "--csv", text, tmp_path)
        assert agreed.returncode == 0 and f"all {len(rows)} rows" in agreed.stdout, agreed.stderr
        at = next(i for i, row in enumerate(rows) if row["kind"] == "block_free")
        cells = text.splitlines()[at + 1].split(",")
        cells[text.splitlines()[0].split(",").index("allocation")] = "99999999"
        ghost = "\n".join([*text.splitlines()[:at + 1], ",".join(cells), *text.splitlines()[at + 2:]]) + "\n"
        told = check(ring, "--csv", ghost, tmp_path)
        assert told.returncode == DISAGREED and f"row {at + 1}, allocation: 99999999 is no allocation" in told.stderr


def test_the_ledger_says_what_the_dump_says(rings):
    ring = next(iter(rings.values()))
    rows = list(csv.DictReader(written(ring, "--csv", "-").splitlines()))
    dump = subprocess.run([REPLAY, "dump", ring], capture_output=True, text=True).stdout.splitlines()
    assert len(rows) == len(dump)
    assert [(row["ticket"], row["kind"]) for row in rows] == [(line.split()[0], line.split()[2]) for line in dump]


def test_neither_user_nor_folder_nor_time_zone_nor_language_changes_a_byte(rings, tmp_path):
    ring = next(iter(rings.values()))
    for option in ("--json", "--csv"):
        expected = written(ring, option, "-")
        for change in (
            {"HOME": "/nonexistent", "USER": "somebody", "LOGNAME": "somebody"},
            {"TZ": "Asia/Kathmandu"},
            {"LANG": "de_DE.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
            {"LC_ALL": "C"},
        ):
            assert written(ring, option, "-", env=os.environ | change) == expected, change
        assert written(ring, option, "-", cwd=tmp_path) == expected
        assert written(ring, option, "-", env={}) == expected


def test_another_host_name_changes_no_byte(rings):
    ring = next(iter(rings.values()))
    elsewhere = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$0" "$@"']
    if subprocess.run([*elsewhere, "true"], capture_output=True).returncode != 0:
        pytest.skip("this user may not change the host name, not even of a namespace of its own")
    there = subprocess.run([*elsewhere, REPLAY, ring, "--json", "-"], capture_output=True, text=True)
    assert there.stdout == written(ring, "--json", "-")
