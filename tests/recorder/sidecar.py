# SPDX-License-Identifier: Apache-2.0
"""Reads a ring's sidecar as WIRE.md §11 tells: the names of its libraries by id."""

import pathlib
import struct

MAGIC = bytes.fromhex("89 4D 45 4D 4E 41 4D 45")
LIBRARY = 1


def path_of(ring):
    return pathlib.Path(f"{ring}.names")


def ring_id(ring):
    return ring.read_bytes()[32:48]


def library_names(ring):
    data = path_of(ring).read_bytes()
    magic, major, minor, order, belongs_to, file_bytes, used = struct.unpack_from("<8sHHI16sQQ", data)
    assert (magic, major, minor, order, file_bytes) == (MAGIC, 1, 0, 0x01020304, len(data))
    assert belongs_to == ring_id(ring)
    names, at = {}, 64
    while at < used:
        size, kind, text_bytes, name_id = struct.unpack_from("<IHHQ", data, at)
        assert size and size % 8 == 0 and kind == LIBRARY and name_id not in names
        names[name_id] = data[at + 16 : at + 16 + text_bytes].decode()
        at += size
    assert at == used and not any(data[used:])
    return names
