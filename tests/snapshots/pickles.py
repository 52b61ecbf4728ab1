# SPDX-License-Identifier: Apache-2.0
"""Snapshots as PyTorch would write them, made from a seed: a small model of its caching allocator, the schemas of all releases, both writers."""

import copy
import pickle
import random
import struct
from dataclasses import dataclass, field

KIB, MIB = 1 << 10, 1 << 20
BASE = 0x7F00_0000_0000


@dataclass
class Block:
    address: int
    size: int
    state: str = "inactive"
    requested: int = 0
    frames: list = field(default_factory=list)
    metadata: str = ""


@dataclass
class Segment:
    address: int
    size: int
    stream: int
    pool: tuple
    small: bool
    expandable: bool
    frames: list
    blocks: list


class Allocator:
    """One device: blocks are cut from the best fit, merged when they are free, and given back to the device when it has no more."""

    def __init__(self, device: int = 0, total: int = 1 << 40, expandable: bool = False, base: int | None = None, clock=None):
        self.device, self.total, self.expandable = device, total, expandable
        self.base = BASE + (device << 44) if base is None else base
        self.segments, self.trace, self.pending = [], [], []
        self.clock = clock or iter(range(1_700_000_000_000_000, 1 << 62, 7))
        self.stacks = [[]]
        self.metadata = ""

    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    def note(self, action: str, address: int, size: int, stream: int, pool: tuple, frames: list):
        place = {"device_free" if action == "oom" else "addr": address}
        self.trace.append({"action": action, **place, "size": size, "stream": stream, "time_us": next(self.clock), "compile_context": "N/A",
                           "user_metadata": self.metadata, "pool_id": pool, "frames": frames})

    def alloc(self, requested: int, stream: int = 0, pool: tuple = (0, 0), frames: list | None = None) -> int | None:
        frames = [] if frames is None else frames
        size = max(512, -(-requested // 512) * 512)
        small = size <= MIB
        found = self._fit(size, stream, pool, small) or self._grow(size, stream, pool, small, frames)
        if found is None:
            self.note("oom", self.total - self.reserved(), size, stream, pool, frames)
            return None
        segment, block = found
        rest = block.size - size
        if rest >= 512 if small or segment.expandable else rest > MIB:
            segment.blocks.insert(segment.blocks.index(block) + 1, Block(block.address + size, rest))
            block.size = size
        block.state, block.requested, block.frames, block.metadata = "active_allocated", requested, frames, self.metadata
        self.note("alloc", block.address, requested, stream, pool, frames)
        return block.address

    def free(self, address: int, frames: list | None = None, deferred: bool = False):
        segment, block = self._find(address)
        self.note("free_requested", address, block.requested, segment.stream, segment.pool, frames or [])
        block.state = "active_pending_free"
        if deferred:
            self.pending.append((address, frames or []))
        else:
            self._complete(address, frames or [])

    def complete_pending(self):
        pending, self.pending = self.pending, []
        for address, frames in pending:
            self._complete(address, frames)

    def empty_cache(self, frames: list | None = None):
        for segment in list(self.segments):
            last = segment.blocks[-1]
            page = 2 * MIB if segment.small else 20 * MIB
            if segment.expandable and last.state == "inactive" and last.size >= page:
                gone = last.size // page * page
                last.size -= gone
                segment.size -= gone
                if last.size == 0:
                    segment.blocks.pop()
                self.note("segment_unmap", segment.address + segment.size, gone, segment.stream, segment.pool, frames or [])
                if not segment.blocks:
                    self.segments.remove(segment)
            elif not segment.expandable and len(segment.blocks) == 1 and last.state == "inactive":
                self.segments.remove(segment)
                self.note("segment_free", segment.address, segment.size, segment.stream, segment.pool, frames or [])

    def _find(self, address: int):
        return next((segment, block) for segment in self.segments for block in segment.blocks if block.address == address)

    def _fit(self, size: int, stream: int, pool: tuple, small: bool):
        fits = [(segment, block) for segment in self.segments if (segment.stream, segment.pool, segment.small) == (stream, pool, small)
                for block in segment.blocks if block.state == "inactive" and block.size >= size]
        return min(fits, key=lambda one: (one[1].size, one[1].address), default=None)

    def _grow(self, size: int, stream: int, pool: tuple, small: bool, frames: list):
        if self.expandable:
            return self._map(size, stream, pool, small, frames)
        wanted = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved() + wanted > self.total:
            self.complete_pending()
            self.empty_cache(frames)
        if self.reserved() + wanted > self.total:
            return None
        at = self.base
        for one in sorted(self.segments, key=lambda one: one.address):
            if at + wanted <= one.address:
                break
            at = max(at, one.address + one.size)
        segment = Segment(at, wanted, stream, pool, small, False, frames, [Block(at, wanted)])
        self.segments.append(segment)
        self.note("segment_alloc", at, wanted, stream, pool, frames)
        return segment, segment.blocks[0]

    def _map(self, size: int, stream: int, pool: tuple, small: bool, frames: list):
        page = 2 * MIB if small else 20 * MIB
        mine = [one for one in self.segments if (one.stream, one.pool, one.small) == (stream, pool, small)]
        segment = mine[0] if mine else None
        tail = segment.blocks[-1] if segment and segment.blocks[-1].state == "inactive" else None
        wanted = -(-(size - (tail.size if tail else 0)) // page) * page
        if self.reserved() + wanted > self.total:
            self.complete_pending()
            return None
        if segment is None:
            number = len({one["addr"] >> 36 for one in self.trace if one["action"] == "segment_map"}) + 1
            at = self.base + (number << 36)
            segment = Segment(at, 0, stream, pool, small, True, frames, [])
            self.segments.append(segment)
        self.note("segment_map", segment.address + segment.size, wanted, stream, pool, frames)
        if tail:
            tail.size += wanted
        else:
            tail = Block(segment.address + segment.size, wanted)
            segment.blocks.append(tail)
        segment.size += wanted
        return segment, tail

    def _complete(self, address: int, frames: list):
        segment, block = self._find(address)
        self.note("free_completed", address, block.requested, segment.stream, segment.pool, frames)
        block.state, block.requested, block.frames, block.metadata = "inactive", 0, [], ""
        merged = []
        for one in segment.blocks:
            if merged and merged[-1].state == one.state == "inactive":
                merged[-1].size += one.size
            else:
                merged.append(one)
        segment.blocks = merged

    def described(self) -> list[dict]:
        def total(segment, states, what):
            return sum(getattr(block, what) for block in segment.blocks if block.state in states)

        active = ("active_allocated", "active_pending_free")
        return [{"device": self.device, "address": one.address, "total_size": one.size, "allocated_size": total(one, active[:1], "size"),
                 "active_size": total(one, active, "size"), "requested_size": total(one, active, "requested"), "stream": one.stream,
                 "segment_type": "small" if one.small else "large", "segment_pool_id": one.pool, "is_expandable": one.expandable, "frames": one.frames,
                 "blocks": [{"address": b.address, "size": b.size, "requested_size": b.requested, "state": b.state, "frames": b.frames} for b in one.blocks]}
                for one in self.segments]


SETTINGS = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False,
            "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False, "pinned_use_cuda_host_register": False,
            "graph_capture_record_stream_reuse": False, "roundup_power2_divisions": {str(1 << power): 0 for power in range(16)}}


def stacks(random_: random.Random, count: int = 12, deepest: int = 8) -> list[list[dict]]:
    frames = [{"name": f"step_{at}", "filename": f"/job/träin {at % 4}.py", "line": at * 3} for at in range(2 * deepest)]
    return [random_.sample(frames, random_.randint(0, deepest)) for _ in range(count)]


def snapshot(seed: int = 1, events: int = 200, devices: int = 1, expandable: bool = False, total: int = 1 << 40, keep_last: int | None = None,
             deferred: bool = True, streams=(0, 0, 0, 0x55AA_0000_1230), pools=((0, 0), (0, 0), (0, 1)), base: int | None = None) -> dict:
    """In the newest schema. `keep_last`: the trace rings hold so many entries of each device."""
    rng = random.Random(seed)
    clock = iter(range(1_700_000_000_000_000, 1 << 62, 7))
    cards = [Allocator(device, total, expandable, base, clock) for device in range(devices)]
    paths, live = stacks(rng), [[] for _ in cards]
    annotations = []
    for event in range(events):
        at = rng.randrange(devices)
        card, mine = cards[at], live[at]
        card.metadata = rng.choice(["", "", "warm-up", "épôque"])
        if rng.random() < 0.1:
            annotations.append({"name": f"part {event // 20}", "stage": "START" if len(annotations) % 2 == 0 else "END", "device": at, "time_us": next(clock)})
        if mine and rng.random() < 0.42:
            card.free(mine.pop(rng.randrange(len(mine))), rng.choice(paths), deferred and rng.random() < 0.2)
        elif rng.random() < 0.05:
            card.complete_pending()
            card.empty_cache(rng.choice(paths))
        else:
            size = rng.choice([1, 40, 512, 1000, 65536, MIB, MIB + 1, 3 * MIB, 12 * MIB, 21 * MIB, rng.randint(1, 30 * MIB)])
            address = card.alloc(size, rng.choice(streams), rng.choice(pools), rng.choice(paths))
            if address is not None:
                mine.append(address)
    for card in cards:
        card.note("snapshot", 0, sum(s["active_size"] for s in card.described()), 0, (0, 0), [])
    host = [{"action": "segment_alloc", "addr": 0x7E00_0000_0000, "size": 4096, "stream": 0, "time_us": next(clock), "compile_context": "", "user_metadata": "",
             "pool_id": (0, 0), "frames": paths[0]}]
    host_segments = [{"device": -1, "address": 0x7E00_0000_0000, "total_size": 4096, "allocated_size": 4096, "active_size": 4096, "requested_size": 4096,
                      "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": paths[0],
                      "blocks": [{"address": 0x7E00_0000_0000, "size": 4096, "requested_size": 4096, "state": "active_allocated", "frames": paths[0]}]}]
    traces = [card.trace if keep_last is None else card.trace[-keep_last:] for card in cards]
    return {"segments": [one for card in cards for one in card.described()], "device_traces": traces,
            "allocator_settings": SETTINGS | {"expandable_segments": expandable}, "external_annotations": annotations, "host_segments": host_segments,
            "host_traces": host}


RELEASES = ["1.13", "2.0", "2.1", "2.4", "2.6", "2.9", "2.14"]


def as_release(whole: dict, release: str):
    """What that release would have written of the same state."""
    age = RELEASES.index(release)
    old = copy.deepcopy(whole)
    if age < RELEASES.index("2.14"):
        del old["host_segments"], old["host_traces"]
    if age < RELEASES.index("2.6"):
        del old["external_annotations"]
    if age < RELEASES.index("2.4"):
        del old["allocator_settings"]
    for entry in (entry for trace in old["device_traces"] for entry in trace):
        newer = {"pool_id": "2.14", "compile_context": "2.9", "user_metadata": "2.9", "time_us": "2.4"}
        for name in (name for name, since in newer.items() if age < RELEASES.index(since)):
            del entry[name]
        if not entry["frames"] and age >= RELEASES.index("2.0"):
            del entry["frames"]
    if age >= RELEASES.index("2.1"):
        return old
    for segment in old["segments"]:
        for name in ("segment_pool_id", "is_expandable", "frames", *(["requested_size"] if release == "1.13" else [])):
            del segment[name]
        for block in segment["blocks"]:
            use = {"addr": block.pop("address"), "real_size": block["requested_size"], "frames": block.pop("frames")}
            if block["state"] != "inactive":
                block["history"] = [use, {**use, "real_size": 1, "frames": []}]
            if release == "1.13":
                del block["requested_size"]
    old["device_traces"] = [[one for one in trace if one["action"] not in ("segment_map", "segment_unmap")] for trace in old["device_traces"]]
    return old["segments"] if release == "1.13" else old


def by_cpp_writer(value) -> bytes:
    """As torch::cuda::_memory_snapshot_pickled() writes: protocol 2, no memo, one SETITEMS a dictionary, one APPENDS a list."""
    out = bytearray(b"\x80\x02")

    def write(one):
        if one is None or isinstance(one, bool):
            out.extend({None: b"N", True: b"\x88", False: b"\x89"}[one])
        elif isinstance(one, int):
            if 0 <= one < 256:
                out.extend(b"K" + bytes([one]))
            elif 0 <= one < 65536:
                out.extend(b"M" + one.to_bytes(2, "little"))
            elif -(1 << 31) <= one < 1 << 31:
                out.extend(b"J" + struct.pack("<i", one))
            else:
                out.extend(b"\x8a\x08" + struct.pack("<q", one if one < 1 << 63 else one - (1 << 64)))
        elif isinstance(one, float):
            out.extend(b"G" + struct.pack(">d", one))
        elif isinstance(one, str):
            out.extend(b"X" + struct.pack("<I", len(one.encode())) + one.encode())
        elif isinstance(one, tuple):
            out.extend(b"(")
            for item in one:
                write(item)
            out.extend(b"t")
        elif isinstance(one, list):
            out.extend(b"](")
            for item in one:
                write(item)
            out.extend(b"e")
        else:
            out.extend(b"}(")
            for key, item in one.items():
                write(key)
                write(item)
            out.extend(b"u")

    write(value)
    return bytes(out + b".")


WRITERS = {f"protocol {number}": lambda value, number=number: pickle.dumps(value, protocol=number) for number in range(6)} | {"C++": by_cpp_writer}
