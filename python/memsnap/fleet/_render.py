# SPDX-License-Identifier: Apache-2.0
"""A report as one screen of text, or as Markdown. The rule: both are made of the same tables, and every list says how much of it is not shown."""

from __future__ import annotations

_BARS = "▁▂▃▄▅▆▇█"
_ROWS = {"class": 12, "torch_version": 4, "device": 4, "allocator": 3, "site": 4, "cohorts": 5, "probes": 3, "first_failures": 3}
WIDTH = 100
BY = {
    "class": "class",
    "device": "device",
    "torch": "torch_version",
    "allocator": "allocator",
    "cuda": "cuda_runtime_version",
    "driver": "cuda_driver_version",
    "python": "python_version",
    "world": "world_size",
    "cohort": "cohort",
    "site": "site",
    "day": "day",
    "week": "week",
}


def _text(value) -> str:
    return "unknown" if value is None else str(value)


def _percent(permille: int) -> str:
    return f"{permille / 10:.0f}"


def _times(permille: int) -> str:
    return f"{permille / 1000:.1f}"


def _bars(numbers: list[int]) -> str:
    most = max(numbers, default=0)
    return "".join("_" if number == 0 else _BARS[(number * len(_BARS) - 1) // most] for number in numbers)


class Table:
    """Rows of cells under headings. `right`: columns of numbers; `more`: how many rows are not shown. What would steer a terminal is shown as `?`:
    a lake may be somebody else's."""

    def __init__(self, title: str, headings: list[str], rows: list[list[str]], right: tuple[int, ...] = (), more: int = 0):
        self.title, self.headings, self.right, self.more = title, headings, right, more
        self.rows = [["".join(one if one.isprintable() else "?" for one in cell) for cell in row] for row in rows]


def _most_classes(classes: dict) -> str:
    ordered = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {number}" for name, number in ordered[:2]) + (", …" if len(ordered) > 2 else "")


def _dimension_table(report: dict, name: str, limit: int | None = None) -> Table:
    rows = report[name]
    cells = [
        [
            _text(row["value"]),
            str(row["runs"]),
            str(row["incidents"]),
            f"{row['incident_jobs']} of {row['jobs']}",
            f"{_percent(row['incident_jobs_permille_low'])} to {_percent(row['incident_jobs_permille_high'])} %",
            _most_classes(row["classes"]),
        ]
        for row in rows[:limit]
    ]
    return Table(name, ["runs", "incidents", "jobs hit", "95 %", "most"], cells, (1, 2, 3, 4), len(rows) - len(cells))


def _class_table(report: dict, limit: int | None = None) -> Table:
    weeks = report["week"][-26:]
    cells = [
        [row["value"], str(row["incidents"]), str(row["jobs"]), _bars([week["classes"].get(row["value"], 0) for week in weeks])]
        for row in report["class"][:limit]
    ]
    known = [week["value"] for week in weeks if week["value"] is not None]
    trend = f"by week, {known[0]} to {known[-1]}" if known else "by week"
    return Table("class", ["incidents", "jobs", trend], cells, (1, 2), len(report["class"]) - len(cells))


def _site_table(report: dict, limit: int | None = None) -> Table:
    cells = [
        [row["value"] or "of one recording alone", str(row["incidents"]), str(row["jobs"]), _most_classes(row["classes"])]
        for row in report["site"][:limit]
    ]
    return Table("site", ["incidents", "jobs", "most"], cells, (1, 2), len(report["site"]) - len(cells))


def _trend_table(report: dict, name: str) -> Table:
    cells = [
        [_text(row["value"]), str(row["runs"]), str(row["incidents"]), f"{row['incident_jobs']} of {row['jobs']}", _most_classes(row["classes"])]
        for row in report[name]
    ]
    return Table(name, ["runs", "incidents", "jobs hit", "most"], cells, (1, 2, 3))


def _cohort_table(report: dict, limit: int) -> Table:
    cohorts = report["cohorts"]
    cells = [
        [
            row["class"],
            f"{row['dimension']} {_text(row['value'])}",
            f"{row['class_jobs']} of {row['jobs']}",
            f"{row['other_class_jobs']} of {row['other_jobs']}",
            _times(row["ratio_permille"]),
            f"{_times(row['ratio_permille_low'])} to {_times(row['ratio_permille_high'])}",
        ]
        for row in cohorts["rows"][:limit]
    ]
    title = f"more than their share: of {cohorts['compared_count']} compared, 95 % for all of them together"
    return Table(title, ["cohort", "jobs hit", "other jobs", "times", "bounds"], cells, (2, 3, 4, 5), len(cohorts["rows"]) - len(cells))


def _undecided_table(report: dict, limit: int) -> Table:
    undecided = report["undecided"]
    cells = [[f"{row['value']} undecidable", f"{row['undecidable']} of {row['judged']}"] for row in undecided["hypotheses"] if row["undecidable"]]
    probes = [[_text(row["value"]), str(row["count"])] for row in undecided["probes"]]
    return Table("evidence that was missing", ["incidents"], cells + probes[:limit], (1,), max(0, len(probes) - limit))


def _first_failure_table(report: dict, limit: int) -> Table:
    rows = report["first_failures"]
    cells = [[f"rank {_text(row['rank'])}", str(row["jobs"]), _text(row["most_class"])] for row in rows[:limit]]
    return Table("failed first", ["jobs", "most"], cells, (1,), len(rows) - len(cells))


def tables(report: dict, by: str | None) -> list[Table]:
    """`by`: one of BY, for that table alone and whole."""
    if by is not None:
        name = BY[by]
        if name == "class":
            return [_class_table(report)]
        if name == "site":
            return [_site_table(report)]
        return [_trend_table(report, name) if name in ("day", "week") else _dimension_table(report, name)]
    shown = [_class_table(report, _ROWS["class"])]
    shown += [_dimension_table(report, name, _ROWS[name]) for name in ("torch_version", "device", "allocator")]
    shown += [_cohort_table(report, _ROWS["cohorts"]), _site_table(report, _ROWS["site"]), _undecided_table(report, _ROWS["probes"])]
    return [*shown, _first_failure_table(report, _ROWS["first_failures"])]


def head(report: dict) -> list[str]:
    totals = report["totals"]
    first, last = report["since"] or totals["first_day"], report["until"] or totals["last_day"]
    days = f"{first} to {last}" if first else "no day known"
    incidents = f"{totals['incidents']} incidents in {totals['incident_jobs']} jobs, {totals['undecided']} undecided"
    without = f"{totals['runs_without_a_day']} runs without a day  {totals['rejected_files']} files rejected"
    return [f"{days}  {totals['runs']} runs of {totals['jobs']} jobs  {incidents}", f"{totals['near_miss_runs']} runs with near misses  {without}"]


def _cut(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _lines(table: Table) -> list[str]:
    if not table.rows:
        return [table.title, "  none"]
    own_line = len(table.title) > 20  # of the title: it is no heading of the first column
    heading = ["" if own_line else table.title, *table.headings]
    widths = [max(len(row[index]) for row in [heading, *table.rows]) for index in range(len(heading))]
    widths[0] = max(8, min(widths[0], WIDTH - 2 * own_line - sum(width + 2 for width in widths[1:])))

    def line(cells: list[str]) -> str:
        cells = [_cut(cell, width) for cell, width in zip(cells, widths)]
        text = "  ".join(cell.rjust(width) if index in table.right else cell.ljust(width) for index, (cell, width) in enumerate(zip(cells, widths)))
        return _cut(("  " if own_line else "") + text).rstrip()

    return [*([table.title] if own_line else ()), line(heading), *map(line, table.rows), *([f"… {table.more} more"] if table.more else ())]


def terminal(report: dict, by: str | None = None) -> str:
    lines = [_cut(line) for line in head(report)]
    for table in tables(report, by):
        if table.rows or by is not None or not table.title.startswith("failed"):
            lines += ["", *_lines(table)]
    return "\n".join(lines) + "\n"


def markdown(report: dict, by: str | None = None) -> str:
    lines = ["# Memory incidents", "", *(f"{line}  " for line in head(report))]
    for table in tables(report, by):
        lines += ["", f"## {table.title[0].upper()}{table.title[1:]}", ""]
        if not table.rows:
            lines.append("none")
            continue
        lines.append(f"| | {' | '.join(table.headings)} |")
        lines.append("|---|" + "".join("---:|" if index in table.right else "---|" for index in range(1, len(table.headings) + 1)))
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
        lines += ["", f"… {table.more} more"] if table.more else []
    return "\n".join(lines) + "\n"
