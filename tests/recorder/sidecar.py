# SPDX-License-Identifier: Apache-2.0
"""Reads a ring's sidecar as WIRE.md §11 tells, independently of the programs: libraries, names, code objects, stacks, loaded objects."""

import dataclasses
import pathlib
import struct

MAGIC = bytes.fromhex("89 4D 45 4D 4E 41 4D 45")
LIBRARY, NAME, CODE, STACK, OBJECT = 1, 2, 3, 4, 5
PYTHON_CUT, NATIVE_CUT = 1, 2


def path_of(ring):
    return pathlib.Path(f"{ring}.names")


def ring_id(ring):
    return ring.read_bytes()[32:48]


@dataclasses.dataclass
class Code:
    file: str
    name: str
    first_line: int
    version: tuple[int, int]
    line_table: bytes

    def line(self, instruction):
        if self.version >= (3, 11):
            spans = locations(self.line_table, self.first_line)
        elif self.version == (3, 10):
            spans = line_spans(self.line_table, self.first_line)
        else:
            spans = increments(self.line_table, self.first_line)
        found = None
        for begin, end, line in spans:
            if begin <= instruction < end:
                found = line
        return found


def varint(table, at):
    value = shift = 0
    while True:
        byte = table[at]
        at += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64:
            return value, at


def locations(table, line):
    """CPython 3.11 and later: Objects/locations.md. Spans of code units of two bytes."""
    at = begin = 0
    while at < len(table):
        head = table[at]
        at += 1
        end = begin + ((head & 7) + 1) * 2
        kind = head >> 3 & 15
        shown = True
        if kind == 15:
            shown = False
        elif kind in (13, 14):
            number, at = varint(table, at)
            line += -(number >> 1) if number & 1 else number >> 1
            if kind == 14:
                for _ in range(3):
                    _, at = varint(table, at)
        elif kind >= 10:
            line += kind - 10
            at += 2
        else:
            at += 1
        yield begin, end, line if shown else None
        begin = end


def line_spans(table, line):
    """CPython 3.10: Objects/lnotab_notes.txt."""
    begin = 0
    for delta, step in zip(table[::2], struct.unpack(f"{len(table)}b", table)[1::2]):
        if step != -128:
            line += step
        yield begin, begin + delta, line if step != -128 else None
        begin += delta


def increments(table, line):
    """CPython 3.9: pairs of unsigned address and signed line increments, which hold from the new address on."""
    begin = 0
    for delta, step in zip(table[::2], struct.unpack(f"{len(table)}b", table)[1::2]):
        if delta:
            yield begin, begin + delta, line
        begin += delta
        line += step
    yield begin, 1 << 32, line


@dataclasses.dataclass
class Stack:
    python: list[tuple[int, int]]  # code id, instruction; innermost first
    native: list[int]
    flags: int
    generation: int


@dataclasses.dataclass
class Object:
    begin: int
    end: int
    bias: int
    generation: int
    build_id: bytes
    path: str


@dataclasses.dataclass
class Sidecar:
    libraries: dict[int, str]
    names: dict[int, str]
    codes: dict[int, Code]
    stacks: dict[int, Stack]
    objects: list[Object]

    def frames(self, token):
        """(file, name, line) of the Python frames, innermost first."""
        found = [(self.codes[code], instruction) for code, instruction in self.stacks[token].python]
        return [(code.file, code.name, code.line(instruction)) for code, instruction in found]

    def object_of(self, address, generation):
        covering = [one for one in self.objects if one.begin <= address < one.end and one.generation <= generation]
        return covering[-1] if covering else None

    def native(self, token):
        """The objects that the native frames lie in, innermost first."""
        stack = self.stacks[token]
        return [self.object_of(address, stack.generation) for address in stack.native]


def take_texts(payload, at, *sizes):
    texts = []
    for size in sizes:
        texts.append(payload[at : at + size])
        at += size
    assert at == len(payload)
    return texts


def take_code(payload):
    first_line, version, file_bytes, name_bytes, table_bytes = struct.unpack_from("<IHHHH", payload)
    file, name, table = take_texts(payload, 12, file_bytes, name_bytes, table_bytes)
    return Code(file.decode(), name.decode(), first_line, (version >> 8, version & 255), table)


def take_stack(payload):
    python_count, native_count, flags, generation = struct.unpack_from("<HHHH", payload)
    words = struct.unpack_from(f"<{python_count + native_count}Q", payload, 8)
    assert len(payload) == 8 + 8 * len(words) and words
    python = [(word >> 32, word & 0xFFFFFFFF) for word in words[:python_count]]
    return Stack(python, list(words[python_count:]), flags, generation)


def take_object(payload):
    begin, end, bias, generation, build_id_bytes, path_bytes, zero = struct.unpack_from("<QQQHHHH", payload)
    build_id, path = take_texts(payload, 32, build_id_bytes, path_bytes)
    assert begin < end and zero == 0
    return Object(begin, end, bias, generation, build_id, path.decode())


def read_sidecar(ring):
    data = path_of(ring).read_bytes()
    magic, major, minor, order, belongs_to, file_bytes, used = struct.unpack_from("<8sHHI16sQQ", data)
    assert (magic, major, minor, order, file_bytes) == (MAGIC, 1, 0, 0x01020304, len(data))
    assert belongs_to == ring_id(ring)
    read, at = Sidecar({}, {}, {}, {}, []), 64
    by_kind = {
        LIBRARY: (read.libraries, bytes.decode),
        NAME: (read.names, bytes.decode),
        CODE: (read.codes, take_code),
        STACK: (read.stacks, take_stack),
    }
    while at + 16 <= len(data):
        size, kind, payload_bytes, name_id = struct.unpack_from("<IHHQ", data, at)
        if size == 0:
            break
        assert size == (16 + payload_bytes + 7) // 8 * 8
        payload = data[at + 16 : at + 16 + payload_bytes]
        assert not any(data[at + 16 + payload_bytes : at + size])
        if kind == OBJECT:
            read.objects.append(take_object(payload))
        else:
            entries, take = by_kind[kind]
            assert name_id and name_id not in entries
            entries[name_id] = take(payload)
        at += size
    assert (at == used or used > len(data)) and not any(data[at:])
    return read


def library_names(ring):
    return read_sidecar(ring).libraries
