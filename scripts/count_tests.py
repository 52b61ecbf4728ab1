# SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit files and prints the closing line "N passed, N failed[, N skipped]". An argument is FILE:STATUS, the exit status of what wrote
the file. A missing or empty file is a failure, and so is a status other than 0 that no failed test of the file explains."""

import sys
import xml.etree.ElementTree as ElementTree


def outcomes(path: str) -> list[str]:
    """One of "passed", "failed", "skipped" for each test case in the JUnit file at `path`."""
    cases = []
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        cases.append("failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed")
    return cases


def main(arguments: list[str]) -> int:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for argument in arguments:
        path, _, status = argument.rpartition(":")
        try:
            cases = outcomes(path)
        except (OSError, ElementTree.ParseError) as error:
            print(f"count_tests: {path}: {error}", file=sys.stderr)
            cases = []
        if not cases:
            print(f"count_tests: {path}: no test ran", file=sys.stderr)
            counts["failed"] += 1
        elif status != "0" and "failed" not in cases:
            print(f"count_tests: {path}: no test failed, but the exit status was {status}", file=sys.stderr)
            counts["failed"] += 1
        for outcome in cases:
            counts[outcome] += 1
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
