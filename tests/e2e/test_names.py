# SPDX-License-Identifier: Apache-2.0
"""Names: leaks told by file and line in the terminal and by token in the receipt, and nothing readable where it should not be."""

import json
import os
import pathlib
import re
import struct

import pytest

from conftest import PROGRAMS, TOP

LEAKS = PROGRAMS / "leaks.py"
WAYS = ("retained_list", "growing_cache", "reference_cycle", "forgotten_hook")
PACKAGE = TOP / "python"

# Words of the job that no ring and no export may hold: paths, functions, phases, libraries.
JOB_WORDS = (b"leaks", b"programs", b"retained_list", b"growing_cache", b"cache_features", b"forgotten_hook", b"forward", b"Linear", b"site-packages",
             b"libtorch", b"libc10", b"my_phase_name")


def line_of(way: str) -> int:
    """The number of the line of leaks.py that allocates what is kept."""
    found = [number for number, line in enumerate(LEAKS.read_text().splitlines(), 1) if f"# kept: {way}" in line]
    assert len(found) == 1
    return found[0]


def words_in(content: bytes) -> list[bytes]:
    return [word for word in JOB_WORDS if word.lower() in content.lower()]


def sidecar_of(ring: pathlib.Path) -> pathlib.Path:
    return ring.with_name(ring.name + ".names")


@pytest.fixture(scope="module")
def leaks(module_bench):
    """The ring of each way of leaking."""
    rings = {}
    for way in WAYS:
        job = module_bench.run(LEAKS.name, way, MEMSNAP_OUT=f"ring{len(rings)}.bin", PYTHONPATH=str(PACKAGE))
        assert job.code == 1 and "OutOfMemoryError" in job.stderr, job.stderr
        rings[way] = module_bench.folder / f"ring{len(rings)}.bin"
    return rings


@pytest.mark.parametrize("way", WAYS)
def test_a_leak_is_named_by_file_and_line_in_the_terminal_and_by_token_in_the_receipt(module_bench, leaks, way):
    place = f"(leaks.py:{line_of(way)})"

    replay = module_bench.replay(leaks[way], receipt=True)

    title = "kept by reference cycles until gc ran" if way == "reference_cycle" else "left behind by earlier steps, allocated at"
    after = replay.stdout.partition(title)[2].splitlines()
    assert len(after) > 1 and place in after[1], replay.stdout
    evidence, dictionary = replay.receipt["evidence"], replay.receipt["dictionary"]
    rows = evidence["collections"]["rows"] if way == "reference_cycle" else evidence["growth"]["survivors"]
    tokens = {entry["site"]: entry["token"] for entry in dictionary["sites"]}
    assert re.fullmatch("site-[0-9a-f]{16}", tokens[rows[0]["site"]])
    assert not words_in(json.dumps(replay.receipt).replace('"word": "forward"', "").encode())


def test_that_collection_is_switched_off_is_said(module_bench, leaks):
    assert "garbage collection is switched off" in module_bench.replay(leaks["reference_cycle"]).stdout


def test_without_names_the_terminal_shows_tokens(module_bench, leaks):
    replay = module_bench.replay(leaks["retained_list"], "--no-names")

    assert re.search("site-[0-9a-f]{16}", replay.stdout)
    assert not words_in(replay.stdout.encode())


def test_nothing_of_the_job_is_readable_in_a_ring(leaks):
    for ring in leaks.values():
        assert words_in(ring.read_bytes()) == []
        assert b"leaks.py" in sidecar_of(ring).read_bytes(), "the words are not in the sidecar either, so nothing was tested"


def test_names_are_exported_only_with_leave_and_outside_the_digests(module_bench, leaks):
    paths = {name: module_bench.folder / f"{name}.json" for name in ("plain", "named")}
    ring = leaks["growing_cache"]

    module_bench.replay(ring, "--json", paths["plain"], "--force")
    module_bench.replay(ring, "--json", paths["named"], "--with-names", "--force")

    plain, named = (json.loads(path.read_text()) for path in paths.values())
    assert "names" not in plain and named.pop("names")["sites"]
    assert plain == named
    for path in paths.values():
        checked = module_bench.replay("check", "--receipt", path, ring)
        assert checked.code == 0, checked.stderr
    names = json.loads(paths["named"].read_text())["names"]
    frames = [frame for site in names["sites"] for frame in site["frames"]]
    assert {"function": "cache_features", "file": str(LEAKS), "line": line_of("growing_cache")} in frames


def test_a_key_gives_equal_tokens_in_two_runs_and_none_equal_without_it(module_bench, leaks):
    key = module_bench.folder / "key"
    key.write_bytes(b"a key of the company")

    def tokens(ring: pathlib.Path, *options: object, **environment: str) -> set[str]:
        path = module_bench.folder / "tokens.json"
        module_bench.replay(ring, "--json", path, "--force", *options)
        return {entry["token"] for entry in json.loads(path.read_text())["dictionary"]["sites"]}

    one, other = leaks["growing_cache"], leaks["retained_list"]
    assert tokens(one, "--token-key", key) & tokens(other, "--token-key", key)
    assert not tokens(one) & tokens(other)


def test_collapsed_stacks_are_tokens_without_leave_and_add_up(module_bench, leaks):
    ring = leaks["retained_list"]
    receipt = module_bench.replay(ring, receipt=True).receipt

    tokens = module_bench.replay(ring, "--collapsed", "-").stdout
    named = module_bench.replay(ring, "--collapsed", "-", "--with-names").stdout

    assert not words_in(tokens.encode())
    assert all(re.fullmatch(r"cuda:0(;[^;\n]+)+ \d+", line) for line in named.splitlines())
    for text in (tokens, named):
        assert sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) == sum(site["bytes"] for site in receipt["evidence"]["sites"])
    assert f"retained_list (leaks.py:{line_of('retained_list')})" in named


@pytest.mark.parametrize("damage", ["missing", "junk", "foreign", "cut"])
def test_without_a_right_sidecar_the_verdict_is_the_same_and_sites_are_tokens(module_bench, leaks, damage):
    folder = module_bench.folder / damage
    folder.mkdir()
    ring = folder / "ring.bin"
    sidecar = sidecar_of(ring)
    os.link(leaks["growing_cache"], ring)
    whole = sidecar_of(leaks["growing_cache"]).read_bytes()
    if damage == "junk":
        sidecar.write_bytes(os.urandom(100_000))
    if damage == "foreign":
        sidecar.write_bytes(sidecar_of(leaks["retained_list"]).read_bytes())
    if damage == "cut":
        sidecar.write_bytes(whole[: len(whole) // 2])

    replay, right = (module_bench.replay(path, receipt=True) for path in (ring, leaks["growing_cache"]))
    wanted = module_bench.replay(ring, "--names")

    assert replay.code == right.code == 10
    assert replay.receipt["evidence"] == right.receipt["evidence"]
    assert "leaks.py" not in replay.stdout and re.search("site-[0-9a-f]{16}", replay.stdout)
    assert "no names: " in wanted.stderr
    ring.unlink()


def with_other_build_ids(sidecar: bytes) -> bytes:
    """The sidecar with the last byte of each loaded object's build id changed."""
    changed, at = bytearray(sidecar), 64
    while at + 16 <= len(sidecar) and (entry_bytes := struct.unpack_from("<I", sidecar, at)[0]):
        kind = struct.unpack_from("<H", sidecar, at + 4)[0]
        build_id_bytes = struct.unpack_from("<H", sidecar, at + 16 + 26)[0]
        if kind == 5 and build_id_bytes:
            changed[at + 16 + 32 + build_id_bytes - 1] ^= 1
        at += entry_bytes
    return bytes(changed)


def test_a_function_of_a_library_that_was_built_anew_is_a_place_in_it(module_bench, leaks):
    ring = module_bench.folder / "anew.bin"
    os.link(leaks["growing_cache"], ring)
    sidecar_of(ring).write_bytes(with_other_build_ids(sidecar_of(leaks["growing_cache"]).read_bytes()))

    screen, right = (module_bench.replay(path, "--sites", "20").stdout for path in (ring, leaks["growing_cache"]))

    assert "AddmmBackward0 (autograd)" in right and "AddmmBackward0" not in screen
    assert re.search(r"^    lib\S+\.so\S*\+0x[0-9a-f]+ ", screen, re.M), screen
    ring.unlink()
