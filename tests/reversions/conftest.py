# SPDX-License-Identifier: Apache-2.0
"""Finds the shared helpers of the fixtures, and says at the end how many reversions were killed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fixtures"))


def pytest_terminal_summary(terminalreporter):
    outcomes = {name: [report for report in terminalreporter.stats.get(name, []) if "reversion_is_killed" in report.nodeid] for name in ("passed", "failed")}
    total = sum(map(len, outcomes.values()))
    if total:
        terminalreporter.write_line(f"reversions killed: {len(outcomes['passed'])}/{total}")
