# SPDX-License-Identifier: Apache-2.0
"""Reads a page of memsnap-replay by docs/page.md alone: its parts, and the tables among them as rows of integers, words and None."""

import base64
import bisect
import json
import pathlib
import re
import zlib

PART = re.compile(r'<script type="application/x-memsnap" data-part="([a-z]+)"(?: data-side="(before|after)")?>([A-Za-z0-9+/=]*)</script>')
FLAGS = {"nested": 0, "capturing": 1, "from_torch": 2}


def parts(path: pathlib.Path) -> dict[tuple[str, str | None], bytes]:
    found = PART.findall(path.read_text())
    assert len({(name, side) for name, side, _ in found}) == len(found)
    return {(name, side or None): zlib.decompress(base64.b64decode(text, validate=True)) for name, side, text in found}


def codes(data: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number, shift = 0, 0
    assert shift == 0, "the last code is cut off"
    return numbers


def signed(code: int) -> int:
    return code // 2 if code % 2 == 0 else -(code // 2) - 1


class Table:
    """Columns by name, each a list with an entry a row; words are words."""

    def __init__(self, data: bytes, events: "Table | None" = None):
        head_bytes = int.from_bytes(data[:4], "little")
        self.head = json.loads(data[4 : 4 + head_bytes])
        self.rows, self.raw, self.columns = self.head["rows"], {}, {}
        self.events = events or self
        at = 4 + head_bytes
        for column in self.head["columns"]:
            read = codes(data[at : at + column["bytes"]])
            self.raw[column["name"]] = self.decode(column["coding"], read)
            at += column["bytes"]
            values = list(self.raw[column["name"]])
            for row, text in self.head["large"].get(column["name"], []):
                assert values[row] is None
                values[row] = int(text)
            words = self.head["words"].get(column["type"])
            self.columns[column["name"]] = [words[it] if words and it is not None else it for it in values]
        assert at == len(data), "bytes behind the last column"

    def __getitem__(self, name: str) -> list:
        return self.columns[name]

    def of_events(self, name: str, row: int):
        return self.events.raw[name][row] if self.events.raw.get(name) else None

    def moved(self, row: int) -> int:
        size, kind = self.of_events("size_bytes", row) or 0, self.events.columns["kind"][row]
        return size if kind in ("block_alloc", "initial") else -size if kind == "block_free" else 0

    def decode(self, coding: str, read: list[int]) -> list:
        if coding == "sparse":
            values, row = [None] * self.rows, -1
            assert len(read) % 2 == 0
            for skipped, code in zip(read[::2], read[1::2]):
                row += skipped + 1
                values[row] = signed(code)
            return values
        if coding == "runs":
            assert len(read) % 2 == 0
            return [code - 1 if code else None for count, code in zip(read[::2], read[1::2]) for _ in range(count)]
        assert len(read) == self.rows
        return self.every_row(coding, read)

    def every_row(self, coding: str, read: list[int]) -> list:
        values, last = [], {}
        for row, code in enumerate(read):
            if code == 0:
                values.append(None)
                continue
            key, before, more = None, None, 0
            if coding in ("device", "moved", "freed"):
                key = self.of_events("device", row)
                more = {"device": 0, "moved": self.moved(row), "freed": -self.moved(row)}[coding] if coding != "device" else 0
            if coding == "born":
                before = self.born(row, values)
            if coding == "based":
                key, more = self.raw["segment"][row], self.raw["offset_bytes"][row] or 0
            if before is None:
                before = last.get(key, 0)
            if coding == "plain":
                value = code - 1
            elif coding == "back":
                value = self.raw["ticket"][row] - (code - 1)
            else:
                value = before + more + signed(code - 1)
            last[key] = value - (more if coding == "based" else 0)
            values.append(value)
        return values

    def born(self, row: int, values: list):
        birth, tickets = self.raw["allocation"][row], self.raw["ticket"]
        last = float("inf")  # of a ticket that is too large for its column
        at = bisect.bisect_left(tickets, birth, 0, row, key=lambda ticket: last if ticket is None else ticket) if birth is not None else row
        return values[at] if at < row and tickets[at] == birth else None


class Page:
    def __init__(self, path: pathlib.Path, side: str | None = None):
        self.parts = {name: data for (name, of), data in parts(path).items() if of == side}
        self.outline = json.loads(self.parts["outline"])
        self.receipt = self.parts["receipt"].decode()
        self.names = json.loads(self.parts["names"])
        self.levels, self.begin, self.events = (Table(self.parts[name]) for name in ("levels", "begin", "events"))
        self.derived = Table(self.parts["derived"], self.events)

    def tables(self) -> list[Table]:
        return [self.levels, self.begin, self.events, self.derived]

    def ledger_cell(self, column: str, row: int) -> str:
        """As the event ledger's CSV has it."""
        if column in FLAGS:
            return str(self.events["flags"][row] >> FLAGS[column] & 1)
        table = self.derived if column in self.derived.columns else self.events
        cell = table[column][row]
        return "" if cell is None else str(cell)
