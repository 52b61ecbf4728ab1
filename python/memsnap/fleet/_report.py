# SPDX-License-Identifier: Apache-2.0
"""What `memsnap fleet report` says, from the counts of a lake alone. The rule: pure arithmetic on counts, so whoever made the counts, here or on many
machines, the report is the same to the byte; what is not known is a value of its own (null), never left out."""

from __future__ import annotations

import collections
import datetime

from . import _statistics, _views

SCHEMA = "memsnap.fleet.v1"
COHORTS_AT_LEAST_JOBS = 5  # with the class, to be told of: the bounds are an approximation that fewer do not bear


class _Rows:
    """The counts of one kind, within the days that were asked for, as dicts."""

    def __init__(self, counts: dict, since: str | None, until: str | None):
        self._counts, self._since, self._until = counts, since, until

    def of(self, name: str):
        columns = _views.COUNTS[name][0]
        for key, number in self._counts[name].items():
            day = key[0]
            if (self._since is None or (day is not None and day >= self._since)) and (
                self._until is None or (day is not None and day <= self._until)
            ):
                yield {**dict(zip(columns, key)), "count": number}


def _order(value) -> tuple:
    """Any values of one kind, null last."""
    return value is None, value if isinstance(value, int) else 0, str(value)


class _Tally:
    """Runs, incidents and jobs of one value of a dimension."""

    def __init__(self):
        self.runs, self.incidents, self.jobs, self.incident_jobs = 0, 0, set(), set()
        self.classes = collections.Counter()
        self.class_jobs = collections.defaultdict(set)

    def take(self, row: dict) -> None:
        self.runs += row["count"]
        self.jobs.add(row["job"])
        if row["class"] is not None:
            self.incidents += row["count"]
            self.incident_jobs.add(row["job"])
            self.classes[row["class"]] += row["count"]
            self.class_jobs[row["class"]].add(row["job"])

    def numbers(self) -> dict:
        return {"runs": self.runs, "incidents": self.incidents, "jobs": len(self.jobs), "incident_jobs": len(self.incident_jobs)}


def _tallies(rows: _Rows, value_of) -> dict:
    found = collections.defaultdict(_Tally)
    for row in rows.of("runs"):
        found[value_of(row)].take(row)
    return found


def _by_dimension(rows: _Rows, name: str) -> list[dict]:
    found, z = _tallies(rows, lambda row: row[name]), _statistics.z_of(1)
    table = []
    for value in sorted(found, key=lambda value: (-found[value].incidents, _order(value))):
        tally = found[value]
        low, high = _statistics.share(len(tally.incident_jobs), len(tally.jobs), z)
        classes = {one: tally.classes[one] for one in sorted(tally.classes)}
        table.append({"value": value, **tally.numbers(), "incident_jobs_permille_low": low, "incident_jobs_permille_high": high, "classes": classes})
    return table


def _by_class(whole: _Tally) -> list[dict]:
    table = [{"value": one, "incidents": whole.classes[one], "jobs": len(whole.class_jobs[one])} for one in whole.classes]
    return sorted(table, key=lambda row: (-row["incidents"], row["value"]))


def _by_site(rows: _Rows) -> list[dict]:
    """By token of scope `key`; others are of their recording alone and are counted together, under null."""
    found, jobs, classes = collections.Counter(), collections.defaultdict(set), collections.defaultdict(collections.Counter)
    for row in rows.of("sites"):
        token = row["site"] if row["scope"] == "key" else None
        found[token] += row["count"]
        jobs[token].add(row["job"])
        classes[token][row["class"]] += row["count"]
    ordered = sorted(found, key=lambda token: (-found[token], _order(token)))
    return [
        {"value": token, "incidents": found[token], "jobs": len(jobs[token]), "classes": dict(sorted(classes[token].items()))} for token in ordered
    ]


def _week(day: str | None) -> str | None:
    """The Monday of the week."""
    if day is None:
        return None
    date = datetime.date.fromisoformat(day)
    return (date - datetime.timedelta(days=date.weekday())).isoformat()


def _trend(rows: _Rows, period_of) -> list[dict]:
    found = _tallies(rows, lambda row: period_of(row["day"]))
    return [{"value": value, **found[value].numbers(), "classes": dict(sorted(found[value].classes.items()))} for value in sorted(found, key=_order)]


def _cohorts(rows: _Rows, whole: _Tally) -> dict:
    """Of each value of each dimension and each class: whether more of its jobs have an incident of the class than of the other jobs."""
    compared = []
    for name in _views.DIMENSIONS:
        found = _tallies(rows, lambda row: row[name])
        for value, tally in found.items():
            others = set().union(*(other.jobs for key, other in found.items() if key != value)) - tally.jobs
            if others:
                compared += [(name, value, one, tally, others) for one in whole.classes]
    z = _statistics.z_of(len(compared))
    found = []
    for name, value, one, tally, others in compared:
        inside, outside = len(tally.class_jobs[one]), len(whole.class_jobs[one] & others)
        ratio = _statistics.risk_ratio(inside, len(tally.jobs), outside, len(others), z)
        if inside >= COHORTS_AT_LEAST_JOBS and ratio is not None and ratio[1] > 1000:
            numbers = {"class_jobs": inside, "jobs": len(tally.jobs), "other_class_jobs": outside, "other_jobs": len(others)}
            bounds = dict(zip(("ratio_permille", "ratio_permille_low", "ratio_permille_high"), ratio))
            found.append({"dimension": name, "value": value, "class": one, **numbers, **bounds})
    found.sort(key=lambda row: (-row["ratio_permille_low"], row["class"], row["dimension"], _order(row["value"])))
    return {"compared_count": len(compared), "level_permille": _statistics.LEVEL_PERMILLE, "rows": found}


def _undecided(rows: _Rows) -> dict:
    judged, undecidable, probes = collections.Counter(), collections.Counter(), collections.Counter()
    for row in rows.of("judged"):
        judged[row["hypothesis"]] += row["count"]
        if row["status"] == "undecidable":
            undecidable[row["hypothesis"]] += row["count"]
            probes[row["probe"]] += row["count"]
    return {
        "hypotheses": [{"value": name, "undecidable": undecidable[name], "judged": judged[name]} for name in sorted(judged)],
        "probes": [{"value": probe, "count": probes[probe]} for probe in sorted(probes, key=lambda probe: (-probes[probe], _order(probe)))],
    }


def make(counts: dict, rejected_count: int, first_failures: list[dict], since: str | None = None, until: str | None = None) -> dict:
    """The whole report. `counts` as _views makes them; `since` and `until` are days (YYYY-MM-DD), both included; runs without a day are left out
    where one of them is given."""
    rows = _Rows(counts, since, until)
    whole = _Tally()
    days = set()
    for row in rows.of("runs"):
        whole.take(row)
        days.add(row["day"])
    known_days = sorted(day for day in days if day is not None)
    near_misses = list(rows.of("near_misses"))
    totals = {
        **whole.numbers(),
        "near_miss_runs": sum(row["count"] for row in near_misses),
        "near_miss_jobs": len({row["job"] for row in near_misses}),
        "undecided": whole.classes["undecided"],
        "runs_without_a_day": sum(row["count"] for row in rows.of("runs") if row["day"] is None),
        "rejected_files": rejected_count,
        "first_day": known_days[0] if known_days else None,
        "last_day": known_days[-1] if known_days else None,
    }
    return {
        "schema": SCHEMA,
        "since": since,
        "until": until,
        "totals": totals,
        "class": _by_class(whole),
        **{name: _by_dimension(rows, name) for name in _views.DIMENSIONS},
        "site": _by_site(rows),
        "day": _trend(rows, lambda day: day),
        "week": _trend(rows, _week),
        "cohorts": _cohorts(rows, whole),
        "undecided": _undecided(rows),
        "first_failures": first_failures,
    }
