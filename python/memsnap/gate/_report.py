# SPDX-License-Identifier: Apache-2.0
"""The findings of a gate as text, Markdown and JUnit's XML. The rule: all three say the same findings in the same words."""

from __future__ import annotations

import dataclasses
import pathlib
from xml.etree import ElementTree

from ._limits import BROKEN, KEPT, UNDECIDED, Finding
from ._runs import Run

_MARKS = {KEPT: "ok", BROKEN: "BROKEN", UNDECIDED: "UNDECIDED"}


@dataclasses.dataclass(frozen=True)
class Judged:
    """A run and what became of each limit."""

    run: Run
    findings: list[Finding]

    @property
    def name(self) -> str:
        return pathlib.Path(self.run.path).name


def status_of(judged: list[Judged]) -> str:
    """Of all runs: broken before undecided before kept."""
    seen = {finding.status for one in judged for finding in one.findings}
    return BROKEN if BROKEN in seen else UNDECIDED if UNDECIDED in seen else KEPT


def _printable(text: str) -> str:
    """A file's name on one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def as_text(judged: list[Judged]) -> str:
    lines = []
    for one in judged:
        lines.append(_printable(one.name))
        width = max(len(finding.name) for finding in one.findings)
        lines += [f"  {_MARKS[finding.status]:<9}  {finding.name:<{width}}  {finding.detail}" for finding in one.findings]
        if one.run.differences:
            lines.append(f"  not the baseline's job: {'; '.join(one.run.differences)}")
    lines.append(f"gate: {status_of(judged)}")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return _printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def as_markdown(judged: list[Judged]) -> str:
    lines = [f"### GPU memory: {status_of(judged)}", "", "| run | limit | | |", "|---|---|---|---|"]
    for one in judged:
        lines += [f"| {_cell(one.name)} | {_cell(finding.name)} | {_MARKS[finding.status]} | {_cell(finding.detail)} |" for finding in one.findings]
    notes = [f"- {_cell(one.name)} is not the baseline's job: {_cell('; '.join(one.run.differences))}" for one in judged if one.run.differences]
    return "\n".join(lines + ([""] if notes else []) + notes) + "\n"


def _xml_text(text: str) -> str:
    """XML 1.0 has no place for some characters."""
    return "".join(letter if letter.isprintable() or letter == " " else "?" for letter in text)


def as_junit(judged: list[Judged]) -> str:
    """A test case a run and limit; an undecided one is an error."""
    findings = [finding for one in judged for finding in one.findings]
    counts = {
        "tests": len(findings),
        "failures": sum(finding.status == BROKEN for finding in findings),
        "errors": sum(finding.status == UNDECIDED for finding in findings),
    }
    suite = ElementTree.Element("testsuite", {"name": "memsnap gate", **{name: str(count) for name, count in counts.items()}})
    for one in judged:
        for finding in one.findings:
            case = ElementTree.SubElement(suite, "testcase", {"classname": f"memsnap.{_xml_text(one.name)}", "name": finding.name})
            if finding.status != KEPT:
                ElementTree.SubElement(case, "failure" if finding.status == BROKEN else "error", {"message": _xml_text(finding.detail)})
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
