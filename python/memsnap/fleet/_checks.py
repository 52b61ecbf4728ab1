# SPDX-License-Identifier: Apache-2.0
"""What one value of a receipt may be. The rule: a value that gets into a lake is null, a truth value, an integer in bounds or a text of a strict
pattern; so nothing in a lake can be a formula, a path or a control character, whatever a file says."""

from __future__ import annotations

import re


class Rejected(Exception):
    """A file that is not taken. `reason` is a word of a closed list, `detail` says where; it holds no text of the file."""

    def __init__(self, reason: str, detail: str = ""):
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


_WIDE = re.compile(r"-?[1-9][0-9]{15,35}\Z")
_EXACT_AT_MOST = 1 << 53


def number(value) -> int:
    """An integer; beyond 2^53 it is written as a text of digits."""
    if type(value) is int and -_EXACT_AT_MOST <= value <= _EXACT_AT_MOST:
        return value
    if type(value) is str and _WIDE.match(value):
        return int(value)
    raise TypeError


def _bounded(low: int, high: int):
    def check(value) -> int:
        found = number(value)
        if not low <= found <= high:
            raise TypeError
        return found

    return check


int32 = _bounded(-(1 << 31), (1 << 31) - 1)
int64 = _bounded(-(1 << 63), (1 << 63) - 1)
count = _bounded(0, (1 << 63) - 1)
uint64 = _bounded(0, (1 << 64) - 1)


def boolean(value) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _matching(pattern: str):
    matches = re.compile(pattern + r"\Z").match

    def check(value) -> str:
        if type(value) is not str or not matches(value):
            raise TypeError
        return value

    return check


word = _matching(r"[A-Za-z][A-Za-z0-9_]{0,63}")
version = _matching(r"[0-9]{1,7}(\.[0-9]{1,7}){1,2}")
sha256 = _matching(r"[0-9a-f]{64}")
token = _matching(r"(site|phase|library|dimension|job)-[0-9a-f]{16}")
advice = _matching(r"[A-Za-z][A-Za-z0-9 ,.:;'()/_-]{0,199}")
label = _matching(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def words(value) -> list[str]:
    if type(value) is not list or len(value) > 64:
        raise TypeError
    return [word(one) for one in value]


def may_be_null(check):
    return lambda value: None if value is None else check(value)
