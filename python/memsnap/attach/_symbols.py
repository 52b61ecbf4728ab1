# SPDX-License-Identifier: Apache-2.0
"""Where functions of a running process lie, from the dynamic symbols of the files that it has mapped: read, never run, so a broken or
hostile file can only lack the symbol. ELF of 64 bits, little-endian."""

from __future__ import annotations

import dataclasses
import os
import stat
import struct

_LOADED, _DYNAMIC_SYMBOLS = 1, 11  # PT_LOAD, SHT_DYNSYM
_MOST_SYMBOLS = 1_000_000
MACHINES = {"x86_64": 62, "aarch64": 183}


class NotElf(Exception):
    """Not a file of machine code that this can read."""


@dataclasses.dataclass(frozen=True)
class Image:
    """A file's machine and defined dynamic symbols: name to address, before it is moved to where it lies (`first_address`: of the file's
    first page)."""

    machine: int
    symbols: dict
    first_address: int


def _table(data: bytes, header: tuple, wanted: frozenset) -> dict:
    """Of one symbol table: the wanted names that are defined, with their values."""
    offset, size_bytes, names = header
    found = {}
    for at in range(offset, offset + min(size_bytes, 24 * _MOST_SYMBOLS) - 23, 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, at)
        end = data.find(b"\0", names + name)
        text = data[names + name : end]
        if section != 0 and text in wanted:
            found[text.decode()] = value
    return found


def _parse(data: bytes, wanted: frozenset) -> Image:
    if data[:6] != b"\x7fELF\x02\x01":
        raise NotElf
    machine, = struct.unpack_from("<H", data, 18)
    programs, sections = struct.unpack_from("<QQ", data, 32)
    program_bytes, program_count, section_bytes, section_count = struct.unpack_from("<HHHH", data, 54)
    first_address = None
    for index in range(program_count):
        kind, _, offset, address = struct.unpack_from("<IIQQ", data, programs + index * program_bytes)
        if kind == _LOADED and first_address is None:
            first_address = address - offset
    symbols = {}
    for index in range(section_count):
        at = sections + index * section_bytes
        kind, = struct.unpack_from("<I", data, at + 4)
        offset, size_bytes, link = struct.unpack_from("<QQI", data, at + 24)
        if kind == _DYNAMIC_SYMBOLS:
            names, = struct.unpack_from("<Q", data, sections + link * section_bytes + 24)
            symbols |= _table(data, (offset, size_bytes, names), wanted)
    return Image(machine, symbols, first_address or 0)


def read(path: str, wanted) -> Image:
    """Of the file at `path`, those of the `wanted` names that it defines. Raises NotElf, OSError."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotElf
        data = file.read()
    try:
        return _parse(data, frozenset(name.encode() for name in wanted))
    except (struct.error, OverflowError, UnicodeDecodeError):
        raise NotElf from None
