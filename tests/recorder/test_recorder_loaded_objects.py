# SPDX-License-Identifier: Apache-2.0
"""Loaded objects that are not as a linker makes them: the job runs on, and what can be read of them is told."""

import os
import struct
import subprocess

import pytest

from recorded import BUILD, LIBRARY
from sidecar import read_sidecar

NOTE = 4  # kind of a program header
HEADER_OFFSET, HEADER_BYTES, HEADER_COUNT = 32, 54, 56  # of the program headers, in the file's header
ADDRESS, FILE_BYTES, MEMORY_BYTES = 16, 32, 40  # of the fields of one


def program_headers(data):
    offset = struct.unpack_from("<Q", data, HEADER_OFFSET)[0]
    size, count = (struct.unpack_from("<H", data, at)[0] for at in (HEADER_BYTES, HEADER_COUNT))
    return [offset + i * size for i in range(count)]


def of_kind(data, kind):
    return [at for at in program_headers(data) if struct.unpack_from("<I", data, at)[0] == kind]


def put(data, at, field, value):
    struct.pack_into("<Q", data, at + field, value)


def notes_at(address):
    def change(data):
        for note in of_kind(data, NOTE):
            put(data, note, ADDRESS, address)

    return change


def notes_of(size_bytes):
    def change(data):
        for note in of_kind(data, NOTE):
            put(data, note, FILE_BYTES, size_bytes)
            put(data, note, MEMORY_BYTES, size_bytes)

    return change


CHANGES = {
    "where nothing is mapped": notes_at(1 << 30),
    "over the end": notes_of(1 << 30),
    "over the end of all": notes_of(2**64 - 1),
}


def build(folder, change):
    path = folder / "libodd.so"
    # Alone in a part of its own: no other note keeps the build id readable.
    flags = ["-shared", "-fcf-protection=none", "-Wl,--build-id", "-o", path]
    subprocess.run(["cc", "-x", "c", "-", *flags], input=b"int odd(void) { return 1; }", check=True)
    data = bytearray(path.read_bytes())
    assert of_kind(data, NOTE)
    change(data)
    path.write_bytes(data)
    return path


def odd_object(record, folder, change):
    path = build(folder, change)
    run = record(command=[BUILD / "stacks", "plain"], preload=f"{LIBRARY} {path}", FAKE_CUDA=BUILD / "libfake_cuda.so")
    assert (run.done.returncode, run.done.stderr) == (0, "")
    (ring,) = folder.glob("*.bin")
    (odd,) = [one for one in read_sidecar(ring).objects if os.path.basename(one.path) == path.name]
    return odd


def test_an_objects_build_id_is_read_from_its_notes(record, tmp_path):
    assert len(odd_object(record, tmp_path, lambda data: None).build_id) == 20


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_notes_that_the_object_does_not_map_are_not_read(record, tmp_path, change):
    assert odd_object(record, tmp_path, change).build_id == b""
