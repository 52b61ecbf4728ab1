# SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit files and prints the closing line "N passed, N failed[, N skipped]". A missing or empty file is a failure."""

import sys
import xml.etree.ElementTree as ElementTree


def outcomes(path: str) -> list[str]:
    """One of "passed", "failed", "skipped" for each test case in the JUnit file at `path`."""
    cases = []
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        cases.append("failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed")
    return cases


def main(paths: list[str]) -> int:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in paths:
        try:
            cases = outcomes(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"count_tests: {path}: {error}", file=sys.stderr)
            cases = []
        if not cases:
            print(f"count_tests: {path}: no test ran", file=sys.stderr)
            counts["failed"] += 1
        for outcome in cases:
            counts[outcome] += 1
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
