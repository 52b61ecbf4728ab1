# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's memory viewer takes for granted of a snapshot, as code: the opcodes it can read, and that its steps back from the end meet what they undo."""

import bisect
import pathlib
import struct

# Opcode: bytes of its argument, or how the argument says its own length.
OPCODES = {
    b"\x80": 1, b"\x95": 8, b"(": 0, b"}": 0, b"]": 0, b")": 0, b"t": 0, b"\x85": 0, b"\x86": 0, b"\x87": 0, b"l": 0, b"d": 0,
    b"a": 0, b"e": 0, b"s": 0, b"u": 0, b"N": 0, b"\x88": 0, b"\x89": 0, b"J": 4, b"K": 1, b"M": 2, b"\x8a": "long", b"G": 8,
    b"\x8c": "short", b"X": "text", b"h": 1, b"j": 4, b"q": 1, b"r": 4, b"\x94": 0, b".": 0,
}
BATCH = 1000


def scan(data: bytes) -> dict[bytes, int]:
    """Counts opcodes; asserts that the viewer knows each, that no batch is longer than its calls can take, and that numbers have at most eight bytes."""
    counts: dict[bytes, int] = {}
    marks: list[int] = []
    depth = at = 0
    assert data[:1] == b"\x80" and 2 <= data[1] <= 4
    while True:
        opcode = data[at : at + 1]
        assert opcode in OPCODES, f"opcode {opcode!r} at {at} is unknown to the viewer"
        counts[opcode] = counts.get(opcode, 0) + 1
        size = OPCODES[opcode]
        at += 1
        if size == "long":
            assert data[at] <= 8, f"a number of {data[at]} bytes at {at}"
            size = 1 + data[at]
        elif size == "short":
            size = 1 + data[at]
        elif size == "text":
            size = 4 + struct.unpack_from("<I", data, at)[0]
        at += size
        if opcode == b"(":
            marks.append(depth)
        elif opcode in (b"e", b"u", b"t", b"l", b"d"):
            begin = marks.pop()
            assert opcode != b"e" or depth - begin <= BATCH, f"a batch of {depth - begin} items at {at}"
            depth = begin + (opcode in (b"t", b"l", b"d"))
        elif opcode in (b"a", b"\x86"):
            depth -= 1
        elif opcode in (b"s", b"\x87"):
            depth -= 2
        elif opcode == b".":
            assert depth == 1 and not marks and at == len(data)
            return counts
        elif opcode not in (b"\x80", b"\x95", b"q", b"r", b"\x94", b"\x85"):
            depth += 1


class Ranges:
    """Ranges that do not overlap, by begin."""

    def __init__(self):
        self.begins: list[int] = []
        self.values: dict[int, dict] = {}

    def around(self, address: int) -> dict | None:
        at = bisect.bisect_right(self.begins, address) - 1
        value = self.values[self.begins[at]] if at >= 0 else None
        return value if value and address < value["addr"] + value["size"] else None

    def inside(self, address: int, end: int) -> bool:
        at = bisect.bisect_left(self.begins, address)
        return (at < len(self.begins) and self.begins[at] < end) or self.around(address) is not None

    def add(self, value: dict) -> None:
        assert not self.inside(value["addr"], value["addr"] + value["size"]), f"{value} overlaps another range"
        bisect.insort(self.begins, value["addr"])
        self.values[value["addr"]] = value

    def remove(self, address: int) -> dict:
        assert address in self.values, f"nothing begins at {address:#x}"
        self.begins.pop(bisect.bisect_left(self.begins, address))
        return self.values.pop(address)


class Undoing:
    """The state that the viewer holds while it steps back from the end of one device's trace."""

    def __init__(self, snapshot: dict, device: int):
        self.segments, self.blocks = Ranges(), Ranges()
        for segment in snapshot["segments"]:
            if segment["device"] != device:
                continue
            self.segments.add({"addr": segment["address"], "size": segment["total_size"]})
            at = segment["address"]
            assert isinstance(segment["frames"], list)
            for block in segment["blocks"]:
                assert block["address"] == at and isinstance(block["frames"], list)
                at += block["size"]
                if block["state"] in ("active_allocated", "active_pending_free"):
                    assert 0 < block["requested_size"] <= block["size"]
                    pending = block["state"] == "active_pending_free"
                    self.blocks.add({"addr": block["address"], "size": block["size"], "requested": block["requested_size"], "pending": pending})
                else:
                    assert block["state"] == "inactive"
            assert at == segment["address"] + segment["total_size"], "blocks do not cover their segment"

    def undo(self, event: dict) -> None:
        action = event["action"]
        assert isinstance(event["size"], int) and isinstance(event["stream"], int)
        if action == "oom":
            assert isinstance(event["device_free"], int)
        if action in ("oom", "snapshot", "annotate"):
            return
        address, size = event["addr"], event["size"]
        if action == "alloc":
            assert isinstance(event["frames"], list)
            block = self.blocks.remove(address)
            assert not block["pending"] and block["requested"] == size, (event, block)
        elif action == "free_requested":
            block = self.blocks.values.get(address)
            assert block is not None and block["pending"], f"{event} is of no block that waits"
            block["pending"] = False
        elif action == "free_completed":
            holder = self.segments.around(address)
            assert holder is not None and address + size <= holder["addr"] + holder["size"], f"{event} lies in no segment"
            self.blocks.add({"addr": address, "size": size, "requested": size, "pending": True})
        elif action in ("segment_free", "segment_unmap"):
            self.grow(address, size, joins=action == "segment_unmap")
        elif action in ("segment_alloc", "segment_map"):
            assert not self.blocks.inside(address, address + size), f"{event} has blocks when it is undone"
            self.shrink(address, size, whole=action == "segment_alloc")
        else:
            raise AssertionError(f"unknown action {action}")

    def grow(self, address: int, size: int, joins: bool) -> None:
        self.segments.add({"addr": address, "size": size})
        behind = self.segments.values.get(address + size) if joins else None
        if behind:
            self.segments.remove(behind["addr"])
            self.segments.values[address]["size"] += behind["size"]
        before = self.segments.around(address - 1) if joins else None
        if before:
            before["size"] += self.segments.remove(address)["size"]

    def shrink(self, address: int, size: int, whole: bool) -> None:
        holder = self.segments.around(address)
        assert holder is not None and address + size <= holder["addr"] + holder["size"], f"no segment at {address:#x}"
        assert not whole or (holder["addr"] == address and holder["size"] == size)
        self.segments.remove(holder["addr"])
        if holder["addr"] < address:
            self.segments.add({"addr": holder["addr"], "size": address - holder["addr"]})
        if address + size < holder["addr"] + holder["size"]:
            self.segments.add({"addr": address + size, "size": holder["addr"] + holder["size"] - address - size})


def check(snapshot: dict) -> None:
    """Every device's history can be stepped through from its end to its begin."""
    assert snapshot["device_traces"], "the viewer needs a device to show"
    for device, trace in enumerate(snapshot["device_traces"]):
        state = Undoing(snapshot, device)
        for event in reversed(trace):
            state.undo(event)


def check_file(path: pathlib.Path, snapshot: dict) -> dict[bytes, int]:
    counts = scan(path.read_bytes())
    check(snapshot)
    return counts
