# SPDX-License-Identifier: Apache-2.0
"""An event ledger (docs/ledger.md), verified and read in blocks, so that memory does not follow its length. The rule: it is read twice, checked
first and taken then, and one wrong cell rejects the whole of it."""

from __future__ import annotations

import hashlib
import os

from . import _columns
from ._checks import Rejected

_BLOCK_BYTES = 4 << 20
_HEADER_AT_MOST_BYTES = 1 << 14
_WORD = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"


def _header(descriptor: int) -> list[str]:
    """The names of the columns: those we know, and newer ones behind them; or fewer, of an older memsnap."""
    line, end, _ = os.pread(descriptor, _HEADER_AT_MOST_BYTES, 0).partition(b"\n")
    names = line.decode("ascii", "replace").split(",")
    if not end or names[0] != _columns.EVENTS[0]:
        raise Rejected("not_a_ledger", "header")
    shared = min(len(names), len(_columns.EVENTS))
    if shared < len(_columns.EVENT_NOT_EMPTY) or names[:shared] != _columns.EVENTS[:shared] or len(set(names)) != len(names):
        raise Rejected("not_a_ledger", "header")
    return names


def _blocks(descriptor: int):
    import pyarrow as pa
    from pyarrow import csv

    names = _header(descriptor)
    known = [name for name in names if name in _columns.EVENTS]
    try:
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            reader = csv.open_csv(
                file,
                read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
                parse_options=csv.ParseOptions(quote_char=False, double_quote=False, newlines_in_values=False, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(
                    column_types={name: _columns.event_type(name) for name in known},
                    include_columns=known,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            yield from reader
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeDecodeError):
        raise Rejected("not_a_ledger", "a row is not of the columns' types") from None


def _check(block, last_ticket: int) -> int:
    """One block; returns its last ticket, which the next one must exceed."""
    import pyarrow.compute as pc

    for name in _columns.EVENT_NOT_EMPTY:
        if block.column(name).null_count:
            raise Rejected("not_a_ledger", f"an empty {name}")
    for name in ("kind", "op", "object"):
        if not pc.all(pc.match_substring_regex(block.column(name), _WORD), min_count=0).as_py():
            raise Rejected("not_a_ledger", f"{name} is no word")
    for name in ("nested", "capturing", "from_torch"):
        if block.num_rows and pc.max(block.column(name)).as_py() > 1:
            raise Rejected("not_a_ledger", name)
    if not block.num_rows:
        return last_ticket
    tickets = block.column("ticket")
    if tickets[0].as_py() <= last_ticket or not pc.all(pc.less(tickets[:-1], tickets[1:]), min_count=0).as_py():
        raise Rejected("not_a_ledger", "tickets do not increase")
    return tickets[-1].as_py()


def text_digest(descriptor: int) -> str:
    """SHA-256 of all bytes."""
    digest, offset = hashlib.sha256(), 0
    while data := os.pread(descriptor, 1 << 20, offset):
        digest.update(data)
        offset += len(data)
    return digest.hexdigest()


def verify(descriptor: int) -> tuple[int | None, int | None, int]:
    """First and last ticket and the number of rows. Raises Rejected."""
    first, last, count = None, -1, 0
    for block in _blocks(descriptor):
        last = _check(block, last)
        if first is None and block.num_rows:
            first = block.column("ticket")[0].as_py()
        count += block.num_rows
    return first, (last if count else None), count


def tables(descriptor: int, constants: dict):
    """The rows as Arrow tables of the lake's schema, with the same `constants` (ledger_id, receipt_id, day, job) in each row."""
    import pyarrow as pa

    schema = _columns.events_schema()
    for block in _blocks(descriptor):
        columns = []
        for field in schema:
            if field.name in constants:
                columns.append(pa.repeat(pa.scalar(constants[field.name], field.type), block.num_rows))
            elif field.name in block.schema.names:
                columns.append(block.column(field.name))
            else:
                columns.append(pa.nulls(block.num_rows, field.type))
        yield pa.Table.from_arrays(columns, schema=schema)
