# SPDX-License-Identifier: Apache-2.0
"""How the terminal view spells numbers, bars and curves. The rule: a number that is not known is a dash, and nothing that a name holds moves the
cursor."""

from __future__ import annotations

import dataclasses
import unicodedata

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10


@dataclasses.dataclass(frozen=True)
class Letters:
    """What bars and curves are drawn with."""

    lanes: str  # one a lane: active, cached, outside, others, free
    curve: str  # from nothing to all
    about: str
    minus: str
    dash: str


UTF8 = Letters("█▓▒░·", "▁▂▃▄▅▆▇█", "≈", "−", "–")
ASCII = Letters("#=%o.", "_.:-=+*#", "~", "-", "-")


def size(size_bytes: int | None, letters: Letters) -> str:
    """In the unit that suits it: `512 B`, `20.0 MiB`, `2.00 GiB`."""
    if size_bytes is None:
        return letters.dash
    sign, amount = (letters.minus if size_bytes < 0 else ""), abs(size_bytes)
    if amount >= 1000 * MIB:
        return f"{sign}{amount / GIB:.2f} GiB"
    if amount >= MIB:
        return f"{sign}{amount / MIB:.1f} MiB"
    return f"{sign}{amount / KIB:.1f} KiB" if amount >= KIB else f"{sign}{amount} B"


def gib(size_bytes: int | None, letters: Letters) -> str:
    if size_bytes is None:
        return letters.dash
    return f"{letters.minus if size_bytes < 0 else ''}{abs(size_bytes) / GIB:.2f}"


def change(size_bytes: int, letters: Letters) -> str:
    return ("+" if size_bytes > 0 else "") + size(size_bytes, letters)


def age(age_ns: int | None) -> str:
    """`0.4 s`, `12 s`, `3 min`; nothing when it is not known."""
    if age_ns is None:
        return ""
    seconds = age_ns / 1e9
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def bar(parts: list[int], whole: int, columns: int, letters: Letters) -> str:
    """The lanes side by side. What is not nothing has a column, as long as there are any."""
    if whole <= 0 or columns <= 0:
        return " " * columns
    exact = [columns * max(0, part) / whole for part in parts]
    cells = [max(1, int(width)) if width > 0 else 0 for width in exact]
    while sum(cells) < columns and any(exact):
        cells[max((lane for lane in range(len(cells)) if cells[lane]), key=lambda lane: exact[lane] - cells[lane])] += 1
    while sum(cells) > columns and max(cells) > 1:
        cells[max((lane for lane in range(len(cells)) if cells[lane] > 1), key=lambda lane: cells[lane] - exact[lane])] -= 1
    return "".join(mark * count for mark, count in zip(letters.lanes, cells))[:columns].ljust(columns)


def curve(values: list[int], most: int, columns: int, letters: Letters) -> str:
    """The last values, the newest at the right, of `most` in full height."""
    shown = values[-columns:] if columns > 0 else []
    last = len(letters.curve) - 1
    marks = [letters.curve[min(last, max(0, value) * last // most)] if most > 0 else letters.curve[0] for value in shown]
    return "".join(marks).rjust(columns)


def printable(text: str, letters: Letters) -> str:
    """Control characters, and what changes the direction of text, as their numbers; without UTF-8 all but ASCII."""
    if text.isascii() and text.isprintable():
        return text
    shown = []
    for character in text:
        category = unicodedata.category(character)
        safe = character.isprintable() and category not in ("Cf", "Cc", "Cs", "Co", "Zl", "Zp") and (letters is UTF8 or character.isascii())
        shown.append(character if safe else f"\\u{ord(character):04x}")
    return "".join(shown)


def width(text: str) -> int:
    """In columns."""
    return sum(0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def cut(text: str, columns: int) -> str:
    """At most so many columns; where it is cut it ends with `..`."""
    if width(text) <= columns:
        return text
    while text and width(text) > max(0, columns - 2):
        text = text[:-1]
    return (text + "..")[: max(0, columns)]


def cut_left(text: str, columns: int) -> str:
    """The end of a path tells more than its begin."""
    if width(text) <= columns:
        return text
    while text and width(text) > max(0, columns - 2):
        text = text[1:]
    return (".." + text)[: max(0, columns)]
