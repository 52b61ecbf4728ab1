# SPDX-License-Identifier: Apache-2.0
"""Sizes as people write them. The rule: a number of bytes is an integer; what is not exactly one is refused, never rounded."""

from __future__ import annotations

import fractions
import re

_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", re.ASCII)
_STEPS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def bytes_of(text: str) -> int:
    """'200 MiB', '1.5GiB', '0' in bytes. ValueError says what is wrong."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no size: write 200MiB, 1.5GiB or a number of bytes")
    unit = _UNITS.get(found.group(2).upper())
    if unit is None:
        raise ValueError(f"{found.group(2)!r} is no unit of bytes: B, KiB, MiB, GiB, TiB, or KB, MB, GB, TB")
    size = fractions.Fraction(found.group(1)) * unit
    if size.denominator != 1:
        raise ValueError(f"{text!r} is no whole number of bytes")
    return int(size)


def text_of(size_bytes: int) -> str:
    """In the unit that suits it, with two decimals: '12.00 MiB', '-512 B'."""
    for unit, name in _STEPS:
        if abs(size_bytes) >= unit:
            return f"{size_bytes / unit:,.2f} {name}"
    return f"{size_bytes} B"
