# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged, of another version or made to hurt: each is named with its reason, and the others are taken."""

import json
import resource

import pytest
from fleet_run import contents, environment, fleet, query, receipt, sealed_again

from memsnap.fleet import _checks, _ledger, _receipt, _rows, _sources

LABELS = {"job": "j", "device_model": None, "cohort": None}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return receipt("retention", tmp_path_factory.mktemp("good"), ledger=True)


def reason(data: bytes) -> str:
    """What an ingest makes of a document: the reason of its rejection, "ignored" or "taken"."""
    try:
        document = _receipt.parse(data)
        _receipt.schema_of(document)
        _receipt.verify(document, data)
        _rows.row_of(document, "0" * 64, LABELS)
    except _checks.Rejected as error:
        return error.reason
    except _receipt.NotOurs:
        return "ignored"
    return "taken"


def altered(good, tmp_path, change) -> bytes:
    """A receipt with valid digests whose document `change` has altered."""
    sealed_again(good, tmp_path / "altered.json", change)
    return (tmp_path / "altered.json").read_bytes()


@pytest.mark.parametrize(
    "damage, expected",
    [
        (lambda text: text, "taken"),
        (lambda text: text[:-1], "not_json"),
        (lambda text: text + b"\n", "not_canonical"),
        (lambda text: text.replace(b'"request_bytes":31457280', b'"request_bytes":31457281', 1), "digest_evidence"),
        (lambda text: text.replace(b'"lost_count":0', b'"lost_count":1', 1), "digest_receipt"),
        (lambda text: text.replace(b'"schema":"memsnap.receipt.v1"', b'"schema":"memsnap.receipt.v2"'), "version"),
        (lambda text: text.replace(b'"schema":"memsnap.receipt.v1"', b'"schema":"somebody.else"'), "ignored"),
        (lambda text: text.replace(b'"algorithm":"sha256"', b'"algorithm":"md5"'), "digest_algorithm"),
        (lambda text: text.replace(b'"capture":', b'"capture":{},"capture":', 1), "not_canonical"),
        (lambda text: text.replace(b'"lost_count":0', b'"lost_count":0.5', 1), "number"),
        (lambda text: text.replace(b'"lost_count":0', b'"lost_count":NaN', 1), "number"),
        (lambda text: text.replace(b'"lost_count":0', b'"lost_count":' + b"9" * 9000, 1), "number"),
        (lambda text: b"[" * 200_000 + b"]" * 200_000, "too_deep"),
        (lambda text: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
        (lambda text: b"\xff" + text, "not_json"),
        (lambda text: b"[]", "ignored"),
        (lambda text: b'{"loss": [1, 2, 3]}', "ignored"),
        (lambda text: b"", "not_json"),
        (lambda text: b" " * ((32 << 20) + 1), "too_large"),
        (lambda text: text.replace(b'"schema":', b'"a":"\\ud800","schema":', 1), "not_canonical"),
    ],
)
def test_a_damaged_document_is_rejected_with_its_reason(good, damage, expected):
    assert reason(damage(good.read_bytes())) == expected


def _set(path: str, value):
    def change(document):
        *parents, last = path.split(".")
        for name in parents:
            document = document[int(name)] if isinstance(document, list) else document[name]
        document[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("environment.torch_version", "=HYPERLINK(1)"),
        _set("environment.torch_version", "2.14.1\n"),
        _set("environment.torch_version", 2),
        _set("environment.rank", "0"),
        _set("environment.rank", True),
        _set("environment.rank", 1 << 40),
        _set("environment", []),
        _set("verdict.primary", "../../etc"),
        _set("verdict.qualifiers", ["\x1b[2J"]),
        _set("verdict.qualifiers", "fatal"),
        _set("verdict.hypotheses.retention.fix", "=cmd|' /C calc'!A0"),
        _set("verdict.hypotheses", ["retention"]),
        _set("evidence.sites", {"site": 1}),
        _set("evidence.sites", [[1]]),
        _set("evidence.sites.0.bytes", None),
        _set("evidence.ledgers.total_bytes", "12"),
        _set("evidence.ledgers", 7),
        _set("evidence.growth.survivors.0.bytes", {}),
        _set("dictionary.sites.0.token", "site-<script>"),
        _set("dictionary.sites.0.site", {}),
        _set("evidence.failure.request_bytes", "9" * 40),
        _set("times.failure_unix_ns", "9" * 19),
    ],
)
def test_a_wrong_value_with_right_digests_is_rejected_by_its_type(good, tmp_path, change):
    assert reason(altered(good, tmp_path, change)) == "type"


def test_a_list_beyond_all_reason_is_rejected(good, tmp_path):
    entry = json.loads(good.read_text())["evidence"]["sites"][0]
    assert reason(altered(good, tmp_path, _set("evidence.sites", [entry] * 70_000))) == "too_long"


def test_a_newer_minor_version_with_members_of_its_own_is_read_and_what_it_lacks_is_null(good, tmp_path):
    def change(document):
        document["schema"] = "memsnap.receipt.v1.4"
        document["novelty"] = {"a": [1]}
        document["evidence"]["ledgers"]["new_bytes"] = 5
        del document["evidence"]["ledgers"]["slack_bytes"]
        del document["capture"]["sampling"]

    data = altered(good, tmp_path, change)
    assert reason(data) == "taken"
    row = _rows.row_of(json.loads(data), "0" * 64, LABELS)
    assert row["class"] == "retention" and row["slack_bytes"] is None and row["sampling"] is None


def ledger_reason(path) -> str:
    descriptor = _sources.open_regular(str(path))
    try:
        _ledger.verify(descriptor)
    except _checks.Rejected as error:
        return error.detail
    return "taken"


@pytest.mark.parametrize(
    "damage, expected",
    [
        (lambda lines: lines, "taken"),
        (lambda lines: [lines[0] + ",newer_bytes", *(line + ",7" for line in lines[1:])], "taken"),
        (lambda lines: [",".join(line.split(",")[:-3]) for line in lines], "taken"),
        (lambda lines: lines[:1], "taken"),
        (lambda lines: ["a,b", "1,2"], "header"),
        (lambda lines: [], "header"),
        (lambda lines: [lines[0].replace("op,device", "device,op"), *lines[1:]], "header"),
        (lambda lines: [lines[0], lines[2], lines[1]], "tickets do not increase"),
        (lambda lines: [lines[0], lines[1], lines[1]], "tickets do not increase"),
        (lambda lines: [*lines[:2], lines[2] + ",1"], "a row is not of the columns' types"),
        (lambda lines: [*lines[:2], lines[2].replace("try_call", "=1+1")], "kind is no word"),
        (lambda lines: [*lines[:2], lines[2].replace("try_call", "try call")], "kind is no word"),
        (lambda lines: [*lines[:2], lines[2].replace("1,try_call", "-1,try_call")], "a row is not of the columns' types"),
        (lambda lines: [*lines[:2], lines[2].replace("1,try_call", "1.5,try_call")], "a row is not of the columns' types"),
        (lambda lines: [*lines[:2], lines[2].replace("1,try_call", f"{1 << 64},try_call")], "a row is not of the columns' types"),
        (lambda lines: [*lines[:2], lines[2].replace("try_call", "")], "an empty kind"),
        (lambda lines: [*lines[:2], '"' + lines[2]], "a row is not of the columns' types"),
        (lambda lines: [*lines[:2], lines[2].replace("try_call", "k" * 5_000_000)], "kind is no word"),
        (lambda lines: [*lines[:2], "x" * 20_000_000], "a row is not of the columns' types"),
    ],
)
def test_a_damaged_ledger_is_rejected_whole(good, tmp_path, damage, expected):
    lines = good.with_suffix(".csv").read_text().splitlines()
    (tmp_path / "ledger.csv").write_text("".join(line + "\n" for line in damage(lines)))
    assert ledger_reason(tmp_path / "ledger.csv") == expected


def test_bad_files_are_named_and_kept_in_a_table_and_the_good_ones_are_taken(good, tmp_path):
    folder = tmp_path / "receipts"
    folder.mkdir()
    for suffix in (".json", ".csv"):
        (folder / f"good{suffix}").write_bytes(good.with_suffix(suffix).read_bytes())
    (folder / "bent.json").write_bytes(good.read_bytes().replace(b'"lost_count":0', b'"lost_count":1', 1))
    (folder / "deep.json").write_bytes(b"[" * 100_000)
    (folder / "good2.json").write_bytes((receipt("external", tmp_path / "more")).read_bytes())
    lines = good.with_suffix(".csv").read_text().splitlines()
    shifted = [lines[0], *(",".join([str(int(line.split(",")[0]) + 1000), *line.split(",")[1:]]) for line in lines[1:])]
    (folder / "good2.csv").write_text("".join(line + "\n" for line in shifted))
    (folder / "metrics.csv").write_text("step,loss\n1,2\n")
    (folder / "config.json").write_text("{}")

    told = fleet("ingest", folder, "--to", tmp_path / "lake", status=1)
    fleet("ingest", folder, "--to", tmp_path / "lake", status=1)

    assert "2 receipts, 1 event ledgers" in told and "2 are not memsnap's" in told and "3 rejected" in told
    assert f"{folder}/bent.json: digest_receipt" in told and f"{folder}/deep.json: too_deep" in told
    assert f"{folder}/good2.csv: ledger_of_another" in told
    rows = query(tmp_path / "lake", "SELECT reason FROM rejected ORDER BY 1")
    assert [row["reason"] for row in rows] == ["digest_receipt", "ledger_of_another", "too_deep"]
    assert len(contents(tmp_path / "lake")["receipts"]) == 2

    (folder / "bent.json").write_bytes(good.read_bytes().replace(b'"lost_count":0', b'"lost_count":2', 1))
    assert "digest_receipt" in fleet("ingest", folder, "--to", tmp_path / "lake", status=1)


def test_a_package_that_is_missing_is_named_with_the_way_to_get_it(tmp_path):
    (tmp_path / "stub").mkdir()
    for package, extra, options in (("pyarrow", "fleet", []), ("duckdb", "fleet", None), ("ray", "ray", ["--engine", "ray"])):
        stub = tmp_path / "stub" / f"{package}.py"
        stub.write_text(f"raise ModuleNotFoundError('not here', name={package!r})\n")
        path = f"{tmp_path / 'stub'}:{environment()['PYTHONPATH']}"
        receipt("external", tmp_path / package)
        lake = tmp_path / f"lake-{package}"
        if options is None:
            fleet("ingest", tmp_path / package, "--to", lake)
            told = fleet("report", lake, status=2, PYTHONPATH=path)
        else:
            told = fleet("ingest", tmp_path / package, "--to", lake, *options, status=2, PYTHONPATH=path)
        assert told == f"memsnap fleet: {package} is not installed: pip install 'memsnap[{extra}]'\n"
        stub.unlink()


def test_the_largest_document_needs_no_more_than_a_gigabyte():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reason(b"[" + b"[]," * ((32 << 20) // 3 - 1) + b"[]]") == "ignored"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20


@pytest.mark.parametrize("path", ["../other/{name}", "receipts/../../other/{name}", "/etc/{name}", "receipts/day=1/job=a/../../../{name}"])
def test_a_lake_that_points_outside_itself_is_refused(good, tmp_path, path):
    fleet("ingest", good, "--to", tmp_path / "lake")
    commit = next((tmp_path / "lake/_commits").glob("*.json"))
    document = json.loads(commit.read_text())
    document["files"][0]["path"] = path.format(name=document["files"][0]["path"].rpartition("/")[2])
    commit.write_text(json.dumps(document))

    assert "lists what is no file of a lake" in fleet("report", tmp_path / "lake", status=3)


def test_what_would_steer_a_terminal_is_not_printed():
    from memsnap.fleet import _render

    assert _render.Table("t", ["h"], [["\x1b[2Jcard\n", "1"]]).rows == [["?[2Jcard?", "1"]]
