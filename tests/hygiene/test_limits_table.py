# SPDX-License-Identifier: Apache-2.0
"""docs/limits.md against the tests, one to one: each row names tests that exist, and each test of a mode or a limit has its row."""

import ast
import collections
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = (TOP / "docs/limits.md").read_text()
TOLD_BY_THE_DOCUMENT = ("tests/e2e/test_modes.py", "tests/e2e/test_limits.py")


def names_in(file: pathlib.Path) -> list[str]:
    functions = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef))
    return [function.name for function in functions if function.name.startswith("test_")]


def rows(document: str) -> list[tuple[str, list[str]]]:
    """Of each table whose last column is `test`: the rows, each with the tests that it names."""
    found, inside = [], False
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[-1] == "test":
            inside = True
        elif inside and not set(line) <= set("|- "):
            found.append((cells[0], re.findall(r"`(test_\w+)`", cells[-1])))
    return found


def faults(document: str, anywhere: list[str], told: list[str]) -> list[str]:
    """`anywhere`: the names of all tests; `told`: those that must have a row."""
    defined, named = collections.Counter(anywhere), collections.Counter(name for _, names in rows(document) for name in names)
    return [
        *(f"no test: {row}" for row, names in rows(document) if not names),
        *(f"{name} is the name of {defined[name]} tests" for name in named if defined[name] != 1),
        *(f"{name} has {named[name]} rows" for name in told if named[name] != 1),
    ]


def test_each_row_has_its_test_and_each_test_its_row():
    anywhere = [name for file in sorted(TOP.glob("tests/**/test_*.py")) for name in names_in(file)]
    told = [name for file in TOLD_BY_THE_DOCUMENT for name in names_in(TOP / file)]
    assert len(rows(DOCUMENT)) > 25 and len(told) > 20

    assert faults(DOCUMENT, anywhere, told) == []


def test_a_row_without_a_test_a_test_without_its_one_row_and_a_name_that_is_none_are_told():
    table = "| mode | test |\n|---|---|\n| a | `test_a` |\n"

    assert faults(table, ["test_a"], ["test_a"]) == []
    assert faults(table + "| b | |\n", ["test_a"], []) == ["no test: b"]
    assert faults(table, [], []) == ["test_a is the name of 0 tests"]
    assert faults(table, ["test_a", "test_b"], ["test_b"]) == ["test_b has 0 rows"]
    assert faults(table + "| b | `test_a` |\n", ["test_a"], ["test_a"]) == ["test_a has 2 rows"]
