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
COUNTERS_OFFSET = 576
SAMPLING_OFFSET = 752
LIBRARY_COUNT_OFFSET = 736
COUNTERS = ("lost", "lapped", "reentrant", "no_stack", "blind", "table_full", "boundaries_dropped", "keyframes_skipped", "threads_unlisted",
            "originals_missing", "unknown_frees", "device_unknown", "names_dropped", "samples_failed")
RECORD = numpy.dtype({
    "names": ["seq", "kind", "flags", "thread", "address", "size", "link", "extra", "extra16", "device", "op", "library", "code"],
    "formats": ["<u8", "u1", "u1", "<u2", "<u8", "<i8", "<u8", "<u8", "<u2", "i1", "u1", "<u2", "<u2"],
    "offsets": [0, 12, 13, 14, 24, 32, 40, 48, 56, 58, 59, 60, 62],
    "itemsize": 64,
})
KIND = {"block_alloc": 1, "block_free": 2, "block_oom": 3, "birth": 4, "ok": 17, "free": 19, "mem_info": 21,
        "device_sample": 32, "process_sample": 33, "neighbour": 34,
        "tap_alloc": 64, "tap_free_requested": 65, "tap_free_completed": 66, "tap_segment_alloc": 67, "tap_segment_free": 68, "tap_segment_map": 69,
        "tap_segment_unmap": 70, "tap_oom": 71}
UNAVAILABLE = 32
OP = {"cudaMalloc": 1, "cudaFree": 32}
LIBRARY_NAME = 1
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


def counter(ring: pathlib.Path, name: str) -> int:
    with ring.open("rb") as file:
        file.seek(COUNTERS_OFFSET + 8 * COUNTERS.index(name))
        return struct.unpack("<Q", file.read(8))[0]


def sampling(ring: pathlib.Path) -> tuple[int, int]:
    """What can be asked about the devices (1 NVML, 2 switched off, 3 not found, 4 refuses), and the time between samples in ms."""
    with ring.open("rb") as file:
        file.seek(SAMPLING_OFFSET)
        return struct.unpack("<II", file.read(8))


def sample_count(ring: pathlib.Path, device: int = 0) -> int:
    with ring.open("rb") as file:
        file.seek(areas(ring)["pinned"].offset + device * 8192 + 1088)
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


@dataclasses.dataclass
class Library:
    role: int
    entry_point_count: int
    name: str | None


def names(ring: pathlib.Path) -> dict[int, str]:
    """The library names of the sidecar by local id; empty without one."""
    sidecar = ring.with_name(f"{ring.name}.names")
    if not sidecar.exists():
        return {}
    data = sidecar.read_bytes()
    used, found, at = struct.unpack_from("<Q", data, 40)[0], {}, 64
    while at < min(used, len(data)):
        size, kind, text_bytes, name_id = struct.unpack_from("<IHHQ", data, at)
        if size == 0:
            break
        if kind == LIBRARY_NAME:
            found[name_id] = data[at + 16 : at + 16 + text_bytes].decode()
        at += size
    return found


def libraries(ring: pathlib.Path) -> list[Library]:
    """The listed libraries by index, 0 being the unknown one."""
    area, texts = areas(ring)["libraries"], names(ring)
    with ring.open("rb") as file:
        file.seek(LIBRARY_COUNT_OFFSET)
        count = struct.unpack("<I", file.read(4))[0]
        file.seek(area.offset)
        return [Library(role, entry_points, texts.get(name_id)) for role, entry_points, name_id in struct.iter_unpack("<BxH4xQ", file.read(16 * count))]
