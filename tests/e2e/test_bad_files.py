# SPDX-License-Identifier: Apache-2.0
"""Files that are not what they should be: a documented exit code, an error that says what and where and what to do, and never another verdict."""

import json
import os
import pathlib
import random
import shutil
import stat
import struct
import subprocess
import tempfile

import pytest

import ring_file
from conftest import REPLAY

NOT_MEMSNAP, CORRUPT, IO = 3, 4, 5
# The recorder's counts of what it lost are written while it records, so nothing checks them. They can only add doubt.
DOUBTS = {"blind", "incomplete"}


@pytest.fixture(scope="module")
def original(module_bench) -> pathlib.Path:
    """A finished job's ring with a failure, whole in the window and in a keyframe."""
    job = module_bench.run("fragmentation.py", MEMSNAP_RING_MB="1")
    assert job.code == 1
    return job.ring


@pytest.fixture(scope="module")
def verdict(module_bench, original) -> dict:
    replay = module_bench.replay(original, receipt=True)
    assert replay.code == 10 and replay.receipt["verdict"]["primary"] == "fragmentation"
    return answer(replay.receipt)


@pytest.fixture
def copy(bench, original) -> pathlib.Path:
    """A sparse copy that a test may spoil."""
    path = bench.folder / "copy.bin"
    subprocess.run(["cp", "--sparse=always", original, path], check=True)
    return path


def answer(receipt: dict) -> dict:
    evidence, verdict = receipt["evidence"], receipt["verdict"]
    statuses = {name: finding["status"] for name, finding in verdict["hypotheses"].items()} if verdict["hypotheses"] else None
    decided = {name: verdict[name] for name in ("primary", "contributing", "rejected", "undecidable", "qualifiers")}
    return decided | {"statuses": statuses, "failure": evidence["failure"], "ledgers": evidence["ledgers"]}


def assert_refused(path: pathlib.Path, replay, *codes: int) -> None:
    assert replay.code in codes, (replay.code, replay.stdout[:300], replay.stderr)
    assert replay.stdout == ""
    message, way_out, *_ = replay.stderr.splitlines()
    assert message.startswith(f"memsnap-replay: {path}: ") and "[" in message, replay.stderr
    assert way_out.startswith("  ") and len(way_out.strip()) > 10, replay.stderr
    if CORRUPT in codes and replay.code == CORRUPT:
        assert "offset" in message or "ticket" in message, replay.stderr


def truncations(ring: pathlib.Path) -> list[int]:
    ends = {area.offset for area in ring_file.areas(ring).values()} | {area.offset + area.size for area in ring_file.areas(ring).values()}
    lengths = {0, 1, 7, 8, 11, 47, 240, 511, 767, 768, 4096, 65535, 65536} | {end + step for end in ends for step in (-64, -1, 0, 1, 64)}
    return sorted(length for length in lengths if length < ring.stat().st_size)


def test_a_file_that_was_cut_short_anywhere_is_refused(bench, copy):
    lengths = truncations(copy)
    assert len(lengths) > 40
    for length in reversed(lengths):
        os.truncate(copy, length)
        assert_refused(copy, bench.replay(copy), NOT_MEMSNAP, CORRUPT)


def bytes_to_flip(ring: pathlib.Path) -> list[int]:
    """Offsets of bytes that mean something, of every structure: each of the header's, and a draw of the others'."""
    rng = random.Random(11)
    areas = ring_file.areas(ring)

    def drawn(name: str, count: int, used_bytes: int, start: int = 0) -> list[int]:
        return [areas[name].offset + start + rng.randrange(used_bytes) for _ in range(count)]

    used_records = min(ring_file.head(ring), areas["ring"].entry_count)
    with ring.open("rb") as file:
        file.seek(areas["keyframes"].offset + ring_file.KEYFRAME_TABLE)
        table_offset, entry_count = struct.unpack("<II", file.read(8))
    return [
        *rng.sample(range(768), 260),
        *drawn("ring", 60, used_records * 64),
        *drawn("table", 60, areas["table"].size),
        *drawn("pinned", 40, 20 * 64),
        *drawn("boundaries", 10, 640),
        *drawn("keyframes", 40, 256),
        *drawn("keyframes", 40, entry_count * 64, table_offset),
        *drawn("threads", 10, 64), *drawn("libraries", 10, 64), *drawn("anchors", 20, 128),
    ]


def without_doubts(found: dict) -> dict:
    return found | {"qualifiers": sorted(set(found["qualifiers"]) - DOUBTS)}


def test_a_flipped_bit_is_refused_or_does_not_change_the_verdict(bench, copy, verdict):
    rng = random.Random(12)
    refused, silent = 0, []
    for offset in bytes_to_flip(copy):
        mask = 1 << rng.randrange(8)
        with copy.open("r+b") as file:
            file.seek(offset)
            before = file.read(1)
            file.seek(offset)
            file.write(bytes([before[0] ^ mask]))
        replay = bench.replay(copy, receipt=True)
        if replay.code in (NOT_MEMSNAP, CORRUPT):
            assert_refused(copy, replay, NOT_MEMSNAP, CORRUPT)
            refused += 1
        elif replay.code not in (0, 10, 11):
            silent.append(f"byte {offset} bit {mask}: exit code {replay.code}: {replay.stderr}")
        elif changed := {name: value for name, value in without_doubts(answer(replay.receipt)).items() if value != verdict[name]}:
            silent.append(f"byte {offset} bit {mask}: {changed}")
        with copy.open("r+b") as file:
            file.seek(offset)
            file.write(before)
    assert not silent, "\n".join(silent)
    assert refused > 100


def change_header(ring: pathlib.Path, offset: int, form: str, value: int) -> None:
    with ring.open("r+b") as file:
        file.seek(offset)
        file.write(struct.pack(form, value))


def test_a_future_major_version_is_refused_with_both_versions(bench, copy):
    change_header(copy, 8, "<H", 2)

    replay = bench.replay(copy)

    assert_refused(copy, replay, NOT_MEMSNAP)
    assert "version 2.0" in replay.stderr and "version 1" in replay.stderr


def test_a_future_minor_version_is_read(bench, copy, verdict):
    change_header(copy, 10, "<H", 9)

    assert answer(bench.replay(copy, receipt=True).receipt) == verdict


@pytest.mark.parametrize("content", [b"", b"\n", b"not a ring at all\n" * 10_000, bytes(1_000_000), b"\x89MEMSNAP", b"\x89MEMSNAP" + bytes(1_000_000)],
                         ids=["empty", "a-newline", "text", "zeros", "magic-only", "magic-and-zeros"])
def test_a_file_that_is_no_ring_is_refused(bench, content):
    path = bench.folder / "other.bin"
    path.write_bytes(content)
    for command in ([path], ["check", path], ["dump", path], ["dump", "--header", path]):
        assert_refused(path, bench.replay(*command), NOT_MEMSNAP, CORRUPT)


def test_what_cannot_be_read_is_an_input_error(bench):
    os.mkfifo(bench.folder / "pipe")
    (bench.folder / "loop").symlink_to("loop")
    for name in ("pipe", "loop", "missing", "missing/ring.bin"):
        path = bench.folder / name
        assert_refused(path, bench.replay(path), IO)
    assert_refused(pathlib.Path("/dev/null"), bench.replay("/dev/null"), IO)


def test_a_file_without_read_permission_is_an_input_error(bench, copy):
    """Root may read everything, so another user tries, with a copy of the program that it may reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program, ring = shutil.copy(REPLAY, folder), pathlib.Path(folder) / "ring.bin"
        shutil.move(copy, ring)
        ring.chmod(0)
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}

        done = subprocess.run([program, ring], capture_output=True, text=True, **user)

        assert done.returncode == IO and "Permission denied" in done.stderr and str(ring) in done.stderr


def test_the_recording_is_never_modified(bench, copy):
    copy.chmod(stat.S_IRUSR)
    before = (copy.stat().st_mtime_ns, copy.stat().st_size, copy.read_bytes())
    for command in ([copy], [copy, "--json", bench.folder / "out.json"], ["check", copy], ["dump", copy], ["dump", "--state", copy]):
        assert bench.replay(*command).code in (0, 10)
    assert (copy.stat().st_mtime_ns, copy.stat().st_size, copy.read_bytes()) == before


def test_an_output_file_is_not_overwritten_without_force(bench, original):
    path = bench.folder / "out.json"
    path.write_text("mine")

    refused = bench.replay(original, "--json", path)

    assert refused.code == IO and str(path) in refused.stderr and "--force" in refused.stderr
    assert path.read_text() == "mine"
    assert bench.replay(original, "--json", path, "--force").code == 10
    assert json.loads(path.read_text())["verdict"]["primary"] == "fragmentation"


def test_an_output_that_cannot_be_written_is_an_output_error_and_leaves_nothing_behind(bench, original):
    for path in (bench.folder / "missing/out.json", pathlib.Path("/proc/out.json"), bench.folder):
        replay = bench.replay(original, "--json", path)
        assert replay.code == IO and str(path) in replay.stderr, replay.stderr
    assert list(bench.folder.iterdir()) == []
