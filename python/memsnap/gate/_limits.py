# SPDX-License-Identifier: Apache-2.0
"""The limits of a gate, and how one is judged. The rule: a number that is not known keeps no limit and breaks none; it is undecided."""

from __future__ import annotations

import dataclasses
import fractions
import re

from ._bytes import bytes_of, text_of

KEPT, BROKEN, UNDECIDED = "kept", "broken", "undecided"

_PERCENT = re.compile(r"([+-])(\d+(?:\.\d+)?)%", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Number:
    """What can be limited: its option, its member of `memsnap-replay diff --json`, and whether the limit is the most or the least of it."""

    option: str
    member: str
    name: str
    is_most: bool
    help: str


NUMBERS = (
    Number("--max-peak", "peak_active_bytes", "peak active", True, "the most that may be allocated at once"),
    Number("--max-reserved", "peak_reserved_bytes", "peak reserved", True, "the most that PyTorch's allocator may hold at once"),
    Number("--max-retention", "active_rise_bytes", "rise over the last steps", True, "what may stay allocated from step to step, over the last five pairs"),
    Number("--max-outside", "outside_bytes", "outside PyTorch", True, "the most that others may hold of the card"),
    Number("--min-headroom", "headroom_bytes", "headroom at the peak", False, "what must stay free of the card at the peak"),
)


@dataclasses.dataclass(frozen=True)
class Limit:
    """A number of bytes, or a difference to the baseline's: whole bytes, or a part of it."""

    text: str
    absolute_bytes: int | None = None
    added_bytes: int | None = None
    added_part: fractions.Fraction | None = None

    @property
    def needs_baseline(self) -> bool:
        return self.absolute_bytes is None

    def bound(self, baseline_bytes: int | None) -> int | None:
        """In bytes; None where it depends on a number that the baseline does not know. Parts are rounded down."""
        if self.absolute_bytes is not None:
            return self.absolute_bytes
        if baseline_bytes is None:
            return None
        if self.added_bytes is not None:
            return baseline_bytes + self.added_bytes
        return baseline_bytes + (abs(baseline_bytes) * self.added_part).__floor__()


def parse_limit(text: str) -> Limit:
    """'20GiB', '+3%', '+500MiB', '-1%'. ValueError says what is wrong."""
    percent = _PERCENT.fullmatch(text)
    if percent:
        part = fractions.Fraction(percent.group(2)) / 100
        return Limit(text, added_part=-part if percent.group(1) == "-" else part)
    if text[:1] in ("+", "-"):
        added = bytes_of(text[1:])
        return Limit(text, added_bytes=-added if text[0] == "-" else added)
    return Limit(text, absolute_bytes=bytes_of(text))


@dataclasses.dataclass(frozen=True)
class Finding:
    """One limit of one run."""

    name: str
    status: str
    detail: str  # with the inequality, in numbers


def judge(number: Number, limit: Limit, baseline_bytes: int | None, value_bytes: int | None) -> Finding:
    """All in bytes; None is not known."""
    bound = limit.bound(baseline_bytes)
    if value_bytes is None:
        return Finding(number.name, UNDECIDED, f"not known in this run (limit {limit.text})")
    if bound is None:
        return Finding(number.name, UNDECIDED, f"{text_of(value_bytes)}; the baseline does not know it (limit {limit.text})")
    kept = value_bytes <= bound if number.is_most else value_bytes >= bound
    sign = ("≤" if kept else ">") if number.is_most else ("≥" if kept else "<")
    detail = f"{text_of(value_bytes)} {sign} {text_of(bound)}"
    if limit.needs_baseline:
        detail += f" (baseline {text_of(baseline_bytes)}, limit {limit.text})"
    return Finding(number.name, KEPT if kept else BROKEN, detail)
