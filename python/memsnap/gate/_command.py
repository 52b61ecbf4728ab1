# SPDX-License-Identifier: Apache-2.0
"""`memsnap gate`: exit codes 0 all limits are kept, 1 one is broken, 11 one cannot be decided, 2 usage, else those of memsnap-replay."""

from __future__ import annotations

import argparse
import os
import sys

from .. import _tools
from . import _report
from ._limits import BROKEN, KEPT, NUMBERS, UNDECIDED, Finding, Limit, judge, parse_limit
from ._runs import Run, Unreadable, read_run

_STATUSES = {KEPT: 0, BROKEN: 1, UNDECIDED: 11}
_USAGE, _OUTPUT_ERROR = 2, 5


def _limit(text: str) -> Limit:
    try:
        return parse_limit(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings or receipts: the baseline and the runs to judge; a single one is a run")
    parser.add_argument("--no-baseline", action="store_true", help="all files are runs to judge")
    for number in NUMBERS:
        parser.add_argument(number.option, dest=number.member, metavar="LIMIT", type=_limit, help=f"{number.help}: 20GiB, +3%%, +500MiB")
    parser.add_argument("--allow-survived", action="store_true", help="a failure that the job got over breaks nothing")
    parser.add_argument("--markdown", metavar="FILE", help="write the findings as Markdown; - is standard output")
    parser.add_argument("--junit", metavar="FILE", help="write the findings as JUnit's XML; - is standard output")
    parser.add_argument("--summary", action="store_true", help="append the Markdown to the file that GITHUB_STEP_SUMMARY names")
    parser.add_argument("--force", action="store_true", help="overwrite existing output files")


def _incident(run: Run, survived_allowed: bool) -> Finding:
    name = "no failure"
    if run.incident == "none":
        return Finding(name, KEPT, "none")
    if run.incident == "survived" and survived_allowed:
        return Finding(name, KEPT, f"one that the job survived, of {run.cause}")
    how = {"survived": "survived", "lost": "no evidence of it is left"}.get(run.incident, "it ended the job")
    return Finding(name, BROKEN, f"ran out of memory: {run.cause} ({how}); memsnap-replay has the case")


def _split(options) -> tuple[str | None, list[str]]:
    """The baseline, and the runs."""
    if options.no_baseline or len(options.files) == 1:
        return None, options.files
    return options.files[0], options.files[1:]


def _findings(run: Run, has_baseline: bool, options) -> list[Finding]:
    findings = [_incident(run, options.allow_survived)]
    for number in NUMBERS:
        limit = getattr(options, number.member)
        if limit is not None:
            before = run.bytes_of(number.member, "before") if has_baseline else None
            findings.append(judge(number, limit, before, run.bytes_of(number.member, "after")))
    return findings


def _write(path: str, text: str, mode: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)


def _outputs(options, judged) -> list[tuple[str, str, str]]:
    """(path, mode, text); GitHub's file is there already and gathers what all steps say."""
    new = "w" if options.force else "x"
    wanted = []
    if options.markdown:
        wanted.append((options.markdown, new, _report.as_markdown(judged)))
    if options.junit:
        wanted.append((options.junit, new, _report.as_junit(judged)))
    if options.summary:
        wanted.append((os.environ["GITHUB_STEP_SUMMARY"], "a", _report.as_markdown(judged)))
    return wanted


def _wrong_use(options) -> str | None:
    without = [number.option for number in NUMBERS if (limit := getattr(options, number.member)) is not None and limit.needs_baseline]
    if without and _split(options)[0] is None:
        return f"{without[0]} is measured against a baseline: memsnap gate BASELINE RUN"
    if options.markdown == "-" and options.junit == "-":
        return "only one result can be on standard output"
    if options.summary and not os.environ.get("GITHUB_STEP_SUMMARY"):
        return "--summary needs GITHUB_STEP_SUMMARY, which GitHub sets in a workflow"
    return None


def run(options: argparse.Namespace) -> int:
    problem = _wrong_use(options)
    if problem:
        print(f"memsnap gate: {problem}", file=sys.stderr)
        return _USAGE
    baseline, paths = _split(options)
    try:
        runs = [read_run(path, baseline) for path in paths]
    except Unreadable as error:
        print(f"memsnap gate: {error}", file=sys.stderr)
        return error.status
    except _tools.Missing as missing:
        print(f"memsnap gate: {missing}", file=sys.stderr)
        return _USAGE
    judged = [_report.Judged(one, _findings(one, baseline is not None, options)) for one in runs]
    if "-" not in (options.markdown, options.junit):
        print(_report.as_text(judged), end="")
    status = _STATUSES[_report.status_of(judged)]
    for path, mode, text in _outputs(options, judged):
        try:
            _write(path, text, mode)
        except FileExistsError:
            print(f"memsnap gate: {path}: is there already; --force overwrites it", file=sys.stderr)
            status = _OUTPUT_ERROR
        except OSError as error:
            print(f"memsnap gate: {path}: {error.strerror}", file=sys.stderr)
            status = _OUTPUT_ERROR
    return status
