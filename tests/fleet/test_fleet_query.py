# SPDX-License-Identifier: Apache-2.0
"""SQL of the user's own: over the views, and over nothing else."""

import json

import pytest
from fleet_run import fleet, query


def test_the_views_are_there_and_integers_stay_integers(lake, truth):
    assert query(lake, "SELECT count(*) AS n FROM incidents") == [{"n": truth["totals"]["incidents"]}]
    assert query(lake, "SELECT count(*) AS n FROM hypotheses") == [{"n": 4 * truth["totals"]["incidents"]}]
    for view in ("runs", "sites", "near_misses", "libraries", "events", "first_failures", "processes", "rejected"):
        assert query(lake, f"SELECT count(*) AS n FROM {view}")[0]["n"] >= 0
    total = query(lake, "SELECT sum(request_bytes) AS bytes FROM incidents")[0]["bytes"]
    assert type(total) is int and total == sum(row["b"] for row in query(lake, "SELECT request_bytes AS b FROM incidents"))
    joined = "SELECT count(DISTINCT e.ledger_id) AS n FROM events e JOIN incidents i USING (receipt_id)"
    assert query(lake, joined) == [{"n": truth["files"]["ledgers"]}]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE x (a INT)",
        "DROP VIEW runs",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/x.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELECT 1; SELECT 2",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('{folder}/other.csv')",
        "SELECT * FROM '{folder}/other.csv'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_text('{lake}/memsnap-lake.json')",
        "SELECT no such thing",
        "",
    ],
)
def test_a_statement_that_writes_or_looks_elsewhere_is_refused(lake, tmp_path, sql):
    from memsnap.fleet import _lake, _query

    (tmp_path / "other.csv").write_text("a\n1\n")
    before = sorted(lake.rglob("*"))

    with pytest.raises(_query.Refused) as refusal:
        list(_query.run(_lake.Lake(str(lake)), sql.format(folder=tmp_path, lake=lake), 1, "1GiB")[1])

    assert str(refusal.value) and "\n" not in str(refusal.value)
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]
    assert sorted(lake.rglob("*")) == before


def test_a_refusal_is_one_line_and_a_usage_error(lake):
    assert (
        fleet("query", lake, "DROP VIEW runs", status=2)
        == "memsnap fleet: one statement that reads (SELECT, DESCRIBE, EXPLAIN) is taken, and nothing else\n"
    )


def test_a_wide_answer_fits_the_screen_by_cell_and_json_has_it_whole(lake):
    shown = fleet("query", lake, "SELECT receipt_id, hypotheses FROM incidents LIMIT 1").splitlines()
    assert len(shown) == 2 and shown[1].endswith("…")
    assert len(query(lake, "SELECT hypotheses FROM incidents LIMIT 1")[0]["hypotheses"]) == 4
    many = fleet("query", lake, "SELECT unnest(range(300)) AS n").splitlines()
    assert many[-1].startswith("… 100 more rows") and len(many) == 202
    assert [json.loads(line)["n"] for line in fleet("query", lake, "SELECT unnest(range(300)) AS n", "--json").splitlines()] == list(range(300))


def test_a_query_that_needs_too_much_memory_ends_with_a_message(lake):
    told = fleet("query", lake, "SELECT list(a.range || b.range) FROM range(100000) a, range(10000) b", "--memory", "64MiB", status=2)
    assert "memory" in told.lower()
