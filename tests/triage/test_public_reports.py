# SPDX-License-Identifier: Apache-2.0
"""Public reports with known causes, where they lie beside the checkout: the class of each message against its label. `pytest -s` prints the table."""

import json
import pathlib

import pytest

from triage_run import TOP, triage

REPORTS = pathlib.Path(TOP).parent / "shared/incidents/public-reports.jsonl"

LABELS = {"live-set pressure": "live_set", "retention": "retention", "fragmentation": "fragmentation", "external pressure": "external"}
CAUSES = set(LABELS.values())


def label_of(report: dict) -> str:
    return LABELS.get(report["expected_class"], "other")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    if not REPORTS.exists():
        pytest.skip("no public reports beside the checkout")
    folder = tmp_path_factory.mktemp("reports")
    return [(report, triage(folder, report["message"] + "\n")) for report in map(json.loads, REPORTS.read_text().splitlines())]


def row(report: dict, found) -> str:
    first = found.json["incidents"][0] if found.json["incidents"] else None
    kind = first["class"] if first else "unrecognised" if found.json["unrecognised"] else "no message"
    settled = kind in CAUSES and kind == label_of(report)
    outcome = "agrees" if settled else "either" if kind == "fragmentation_or_deferred_free" else "open" if kind not in CAUSES else "differs"
    return (f"{report['id']:<11} {report['evidence_strength']}  {label_of(report):<14} {first['format'] if first else '-':<8} {kind:<31} {outcome:<8} "
            f"{'' if settled or not first else ', '.join(first['missing'])}").rstrip()


def test_the_table(judged, capsys):
    table = [row(*one) for one in judged]
    with capsys.disabled():
        print("\nreport      strength label     format   class                           outcome  missing", *table, sep="\n")
    assert len(table) == len(judged)


def test_no_report_with_a_settled_cause_gets_another_cause(judged):
    wrong = [f"{row(report, found)}\n{found.screen}" for report, found in judged for one in found.json["incidents"]
             if report["evidence_strength"] in "AB" and one["verdict"]["primary"] not in (None, label_of(report))]
    assert wrong == [], "\n\n".join(wrong)


# Of settled cause, with the numbers of PyTorch's allocator in the text.
DECIDED = {
    "live_set": {"CAP-001", "CAP-006", "CAP-007", "EXT-001", "EXT-048", "FRAG-006", "LIVE-002", "LIVE-004", "LIVE-015", "LIVE-016", "LIVE-018"},
    "external": {"EXT-005", "EXT-015", "EXT-016", "EXT-024", "EXT-029", "EXT-031", "EXT-036", "EXT-037"},
}
# What each of the others would have had to print.
OPEN = {
    "ACTIVE-001": {"active"}, "FRAG-001": {"active"}, "FRAG-004": {"active"}, "FRAG-007": {"active"}, "FRAG-008": {"active"}, "FRAG-014": {"active"},
    "EXT-022": {"reserved"}, "LIVE-007": {"reserved", "allocated"}, "FRAG-021": {"total"}, "BUG-002": {"request", "total"}, "EXT-006": {"request", "total"}, "EXT-012": {"request", "total"}, "WSL-001": {"request", "total"},
    "EXT-033": {"total", "reserved"}, "WSL-005": set(),
}


def test_settled_causes_agree_wherever_the_text_holds_the_numbers(judged):
    verdicts = {report["id"]: found for report, found in judged}
    for cause, reports in DECIDED.items():
        for report in sorted(reports & verdicts.keys()):
            assert [one["verdict"]["primary"] for one in verdicts[report].json["incidents"]] == [cause], f"{report}\n{verdicts[report].screen}"
    settled = {report["id"] for report, found in judged if report["evidence_strength"] in "AB" and found.json["incidents"]}
    assert settled <= OPEN.keys() | set().union(*DECIDED.values())
    for report in sorted(settled & OPEN.keys()):
        (one,) = verdicts[report].json["incidents"]
        assert one["verdict"]["primary"] is None and OPEN[report] <= set(one["missing"]), f"{report}\n{verdicts[report].screen}"
        assert one["next"], report


def test_fragmentation_and_deferred_frees_are_named_together_where_only_active_bytes_tell_them_apart(judged):
    together = {report["id"] for report, found in judged for one in found.json["incidents"] if one["class"] == "fragmentation_or_deferred_free"}
    assert {"ACTIVE-001", "FRAG-001", "FRAG-004", "FRAG-007", "FRAG-008", "FRAG-014"} <= together


def test_no_report_that_speaks_of_running_out_of_memory_is_passed_over(judged):
    silent = [report["id"] for report, found in judged
              if "out of memory" in report["message"].lower() and not found.json["incidents"] and not found.json["unrecognised"]]
    assert silent == []
