# SPDX-License-Identifier: Apache-2.0
"""What a report says, against the truth of the simulated fleet and against the numbers worked out another way."""

import collections
import json
import math

import jsonschema
from fleet_run import ENCODE, TOP, fleet, query, receipt, report


def test_a_report_says_what_the_simulated_fleet_is_made_of(lake, truth):
    found = report(lake)

    assert {name: found["totals"][name] for name in truth["totals"]} == truth["totals"]
    assert {row["value"]: {"incidents": row["incidents"], "jobs": row["jobs"]} for row in found["class"]} == truth["class"]
    for name, rows in truth["by"].items():
        assert {row["value"]: {key: row[key] for key in ("runs", "incidents", "jobs", "incident_jobs")} for row in found[name]} == rows
    assert {row["value"]: row["incidents"] for row in found["site"]} == truth["site"]
    assert {row["value"]: {"runs": row["runs"], "incidents": row["incidents"]} for row in found["day"]} == truth["day"]
    assert sum(row["runs"] for row in found["week"]) == truth["totals"]["runs"]
    assert len(truth["class"]) >= 5 and len(truth["site"]) >= 5


def test_the_planted_cohorts_stand_first_and_nothing_else_is_told(tmp_path):
    fleet("simulate", "--ranks", 6000, "--seed", 11, "--to", tmp_path / "simulated", "--encode", ENCODE)
    fleet("ingest", tmp_path / "simulated/receipts", "--to", tmp_path / "lake", "--no-events")
    planted = json.loads((tmp_path / "simulated/truth.json").read_text())["planted"]
    found = report(tmp_path / "lake")

    told = {(row["class"], row["dimension"], row["value"]) for row in found["cohorts"]["rows"]}
    assert told == {
        ("fragmentation", "torch_version", planted["fragmentation"]["torch_version"]),
        ("live_set", "device", planted["live_set"]["device"]),
    }
    leaks = [(row["classes"].get("retention", 0), row["value"]) for row in found["site"]]
    assert max(leaks)[1] == planted["retention"]["site"]


def test_a_simulated_fleet_is_the_same_for_the_same_seed_and_its_receipts_are_valid(simulated, truth, tmp_path):
    fleet("simulate", "--ranks", truth["ranks"], "--seed", truth["seed"], "--to", tmp_path / "again", "--encode", ENCODE)
    fleet("simulate", "--ranks", 40, "--seed", truth["seed"] + 1, "--to", tmp_path / "other", "--encode", ENCODE)
    files = sorted(path.relative_to(simulated) for path in simulated.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*") if path.is_file())
    assert all((simulated / file).read_bytes() == (tmp_path / "again" / file).read_bytes() for file in files)
    assert json.loads((tmp_path / "other/truth.json").read_text())["site"] != truth["site"]

    validator = jsonschema.Draft202012Validator(json.loads((TOP / "docs/receipt.schema.json").read_text()))
    by_verdict = {}
    for file in (simulated / "receipts").rglob("*.json"):
        document = json.loads(file.read_text())
        by_verdict.setdefault((document["verdict"]["primary"], document["verdict"]["exit_status"], str(document["verdict"]["qualifiers"])), document)
    assert len(by_verdict) >= 6
    for document in by_verdict.values():
        assert list(validator.iter_errors(document)) == []


def test_days_bound_a_report_and_both_are_included(lake, truth):
    days = sorted(truth["day"])
    since, until = days[3], days[-4]
    found = report(lake, "--since", since, "--until", until)

    assert found["totals"]["runs"] == sum(truth["day"][day]["runs"] for day in days[3:-3])
    assert (found["day"][0]["value"], found["day"][-1]["value"]) == (since, until)


def test_a_report_is_one_screen_and_says_how_much_it_leaves_out(lake, truth):
    screen = fleet("report", lake).splitlines()

    assert len(screen) <= 50 and max(map(len, screen)) <= 100
    assert any(line.startswith("… ") and line.endswith(" more") for line in screen)
    assert f"{truth['totals']['runs']} runs of {truth['totals']['jobs']} jobs" in screen[0]
    assert set(truth["by"]["device"]) <= {line.split("  ")[0] for line in fleet("report", lake, "--by", "device").splitlines()}
    tables = [line for line in fleet("report", lake, "--markdown").splitlines() if line.startswith("|---")]
    assert len(tables) == fleet("report", lake, "--markdown").count("## ") - sum(
        line == "none" for line in fleet("report", lake, "--markdown").splitlines()
    )


def test_one_table_is_whole(lake, truth):
    from memsnap.fleet import _render

    for by in ("site", "day"):
        rows = fleet("report", lake, "--by", by, "--markdown").splitlines()
        assert len([row for row in rows if row.startswith("| ")]) == 1 + len(truth[by])
    many = {"value": None, "runs": 1, "incidents": 1, "jobs": 1, "incident_jobs": 1, "classes": {}}
    many |= {"incident_jobs_permille_low": 0, "incident_jobs_permille_high": 1000}
    everything = {name: [{**many, "value": str(number)} for number in range(500)] for name in _render.BY.values()}
    for by in _render.BY:
        (table,) = _render.tables(everything | {"week": everything["week"][:3]} if by != "week" else everything, by)
        assert (len(table.rows), table.more) == (500, 0)


def test_the_shares_and_ratios_are_those_of_the_counts(lake):
    found = report(lake)
    rows = query(lake, "SELECT job, class, torch_version, count(*) AS n FROM runs GROUP BY ALL")
    jobs, hit = collections.defaultdict(set), collections.defaultdict(set)
    for row in rows:
        jobs[row["torch_version"]].add(row["job"])
        if row["class"]:
            hit[row["torch_version"]].add(row["job"])
    z = 1.959963985
    for row in found["torch_version"]:
        part, whole = len(hit[row["value"]]), len(jobs[row["value"]])
        share = part / whole
        middle, reach = (share + z * z / (2 * whole)) / (1 + z * z / whole), z / (1 + z * z / whole) * math.sqrt(
            share * (1 - share) / whole + z * z / (4 * whole * whole)
        )
        assert (row["incident_jobs"], row["jobs"]) == (part, whole)
        assert (
            abs(row["incident_jobs_permille_low"] - 1000 * (middle - reach)) <= 1
            and abs(row["incident_jobs_permille_high"] - 1000 * (middle + reach)) <= 1
        )


def test_a_ratio_without_enough_to_compare_is_not_told():
    from memsnap.fleet import _statistics

    assert _statistics.risk_ratio(5, 10, 0, 0, 2.0) is None and _statistics.risk_ratio(0, 10, 0, 10, 2.0) is None
    ratio, low, high = _statistics.risk_ratio(10, 20, 5, 100, 1.96)
    reach = 1.96 * math.sqrt(1 / 10 - 1 / 20 + 1 / 5 - 1 / 100)
    assert (ratio, low, high) == (10000, math.floor(10000 * math.exp(-reach)), math.ceil(10000 * math.exp(reach)))
    assert _statistics.share(0, 0, 2.0) == (0, 1000) and _statistics.share(0, 10, 2.0)[0] == 0 and _statistics.share(10, 10, 2.0)[1] == 1000
    assert _statistics.z_of(100) > _statistics.z_of(1)


def test_what_a_receipt_does_not_tell_is_a_row_of_its_own(tmp_path):
    receipt("nothing_observed", tmp_path / "receipts")
    receipt("external", tmp_path / "receipts")
    fleet("ingest", tmp_path / "receipts", "--to", tmp_path / "lake")
    found = report(tmp_path / "lake")

    assert {row["value"]: row["incidents"] for row in found["device"]} == {None: 1, "1.00 GiB card": 1}
    assert {row["value"]: row["runs"] for row in found["day"]} == {None: 2}
    assert found["totals"]["runs_without_a_day"] == 2 and found["totals"]["undecided"] == 1
    assert {row["value"]: row["undecidable"] for row in found["undecided"]["hypotheses"]} == {
        "external": 1,
        "fragmentation": 1,
        "live_set": 1,
        "retention": 1,
    }
    assert sum(row["count"] for row in found["undecided"]["probes"]) == 4
    assert found["site"] == [{"value": None, "incidents": 2, "jobs": 1, "classes": {"external": 1, "undecided": 1}}]


def test_an_empty_lake_has_an_empty_report(tmp_path):
    (tmp_path / "nothing").mkdir()
    fleet("ingest", tmp_path / "nothing", "--to", tmp_path / "lake")
    assert report(tmp_path / "lake")["totals"]["runs"] == 0
    assert "none" in fleet("report", tmp_path / "lake") and fleet("report", tmp_path / "lake", "--by", "day")
    assert query(tmp_path / "lake", "SELECT count(*) AS n FROM sites") == [{"n": 0}]
