# SPDX-License-Identifier: Apache-2.0
"""`memsnap fleet query`: SQL of the user's own over the views of a lake. The rule: one statement that only reads, and no file but the lake's Parquet,
whatever the statement says."""

from __future__ import annotations

import datetime
import decimal
import json

from . import _views
from ._lake import Lake

SHOWN_ROWS, _CELL_WIDTH = 200, 60


class Refused(Exception):
    """The statement is not run, or failed; the text says why."""


def _lock(connection, files: list[str]) -> None:
    """From here on the connection opens nothing but `files`, and keeps it so."""
    connection.execute(f"SET allowed_paths = [{', '.join(map(_views.quoted, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def run(lake: Lake, text: str, threads: int | None, memory: str | None):
    """The names of the columns, and the rows as an iterator. Raises Refused."""
    import duckdb

    connection = _views.open_lake(lake, threads, memory)
    _lock(connection, [path for table in ("receipts", "events", "jobs", "rejected") for path in lake.files(table)])
    try:
        statements = connection.extract_statements(text)
    except duckdb.Error as error:
        raise Refused(_views.first_line(error)) from None
    if len(statements) != 1 or statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise Refused("one statement that reads (SELECT, DESCRIBE, EXPLAIN) is taken, and nothing else")
    try:
        result = connection.execute(statements[0])
        return [column[0] for column in result.description], _fetched(result)
    except duckdb.Error as error:
        raise Refused(_views.first_line(error)) from None


def _fetched(result):
    import duckdb

    try:
        yield from iter(result.fetchone, None)
    except duckdb.Error as error:
        raise Refused(_views.first_line(error)) from None


def _plain(value):
    """Of JSON's kinds, integers staying integers."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def as_json(names: list[str], rows) -> str:
    """One object a row and line."""
    return "".join(json.dumps(dict(zip(names, map(_plain, row))), ensure_ascii=True) + "\n" for row in rows)


def _cell(value) -> str:
    if value is None:
        return ""
    value = _plain(value)
    text = value if isinstance(value, str) else json.dumps(value)
    text = "".join(one if one.isprintable() else "?" for one in text)
    return text if len(text) <= _CELL_WIDTH else text[: _CELL_WIDTH - 1] + "…"


def as_text(names: list[str], rows) -> str:
    cells, more = [], 0
    for row in rows:
        if len(cells) < SHOWN_ROWS:
            cells.append([_cell(value) for value in row])
        else:
            more += 1
    widths = [max(len(row[index]) for row in [names, *cells]) for index in range(len(names))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [names, *cells]]
    return "\n".join(lines) + (f"\n… {more} more rows: --json prints all" if more else "") + "\n"
