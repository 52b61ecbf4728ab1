# SPDX-License-Identifier: Apache-2.0
"""A second, minimal reader of ring files, typed from interpose/WIRE.md: where the areas lie, and the records as numpy sees them.

It checks nothing but the sequence word: what it returns is compared with what others say.
"""

import dataclasses
import pathlib
import struct

import numpy

AREAS = ("ring", "table", "pinned", "boundaries", "keyframes", "threads", "libraries", "anchors")
HEAD_OFFSET = 512
RECORD = numpy.dtype({
    "names": ["seq", "kind", "flags", "thread", "address", "size", "link", "device", "op", "library", "code"],
    "formats": ["<u8", "u1", "u1", "<u2", "<u8", "<i8", "<u8", "i1", "u1", "<u2", "<u2"],
    "offsets": [0, 12, 13, 14, 24, 32, 40, 58, 59, 60, 62],
    "itemsize": 64,
})
KIND = {"block_alloc": 1, "block_free": 2, "block_oom": 3, "birth": 4, "ok": 17, "free": 19}
OP = {"cudaMalloc": 1, "cudaFree": 32}
KEYFRAME_TABLE = 116  # u32 table_offset, u32 entry_count


@dataclasses.dataclass
class Area:
    offset: int
    size: int
    entry_bytes: int
    entry_count: int


def areas(ring: pathlib.Path) -> dict[str, Area]:
    with ring.open("rb") as file:
        file.seek(48)
        return {name: Area(*struct.unpack("<QQII", file.read(24))) for name in AREAS}


def head(ring: pathlib.Path) -> int:
    with ring.open("rb") as file:
        file.seek(HEAD_OFFSET)
        return struct.unpack("<Q", file.read(8))[0]


def records(ring: pathlib.Path) -> numpy.ndarray:
    """The committed records, oldest first."""
    area = areas(ring)["ring"]
    with ring.open("rb") as file:
        file.seek(area.offset)
        found = numpy.fromfile(file, RECORD, area.entry_count)
    found = found[found["seq"] != 0]
    return found[numpy.argsort(found["seq"])]


def thread_ids(ring: pathlib.Path) -> list[int]:
    """Thread ids by thread index."""
    area = areas(ring)["threads"]
    with ring.open("rb") as file:
        file.seek(area.offset)
        return [tid for tid, _, _ in struct.iter_unpack("<IIQ", file.read(area.entry_count * 16))]
