# SPDX-License-Identifier: Apache-2.0
"""The sidecar: the names of what the ring only numbers, beside it, private, and never in its way."""

import stat

from recorded import BUILD, LIBRARY, read_ring
from sidecar import library_names, path_of

ALLOCATOR, PROGRAM = 1, 5


def the_ring(run, name="*.bin"):
    (ring,) = run.folder.glob(name)
    return ring


def test_it_names_each_listed_library_once_by_its_index(record):
    ring = the_ring(record("simple"))
    listed = read_ring(ring)
    assert listed["header"]["sidecar"] == 1
    assert listed["header"]["names_dropped"] == 0
    names = library_names(ring)
    assert {name: listed["roles"][index] for index, name in names.items()} == {"libc10_cuda.so": ALLOCATOR, "program": PROGRAM}
    assert sorted(names) == list(range(1, listed["header"]["library_count"]))


def test_it_is_private(record):
    assert stat.S_IMODE(path_of(the_ring(record("simple"))).stat().st_mode) == 0o600


def test_without_names_there_is_no_file(record):
    run = record("simple", MEMSNAP_NAMES=0)
    assert [file.suffix for file in run.folder.iterdir()] == [".bin"]
    assert (run.ring()["header"]["sidecar"], run.ring()["header"]["names_dropped"]) == (0, 0)


def test_a_left_over_sidecar_is_not_touched_and_the_pair_takes_the_next_number(record, tmp_path):
    (tmp_path / "ring.bin.names").write_text("somebody's")
    run = record("simple", MEMSNAP_OUT="ring.bin")
    assert sorted(file.name for file in run.folder.iterdir()) == ["ring-2.bin", "ring-2.bin.names", "ring.bin.names"]
    assert (tmp_path / "ring.bin.names").read_text() == "somebody's"
    assert library_names(tmp_path / "ring-2.bin")


def test_a_left_over_sidecar_is_no_matter_when_none_is_wanted(record, tmp_path):
    (tmp_path / "ring.bin.names").write_text("somebody's")
    record("simple", MEMSNAP_OUT="ring.bin", MEMSNAP_NAMES=0)
    assert (tmp_path / "ring.bin").exists()


def test_where_files_need_a_name_at_once_it_is_made_all_the_same(record):
    run = record("simple", preload=f"{LIBRARY} {BUILD}/libno_unnamed_files.so")
    assert library_names(the_ring(run))


def test_no_room_for_it_leaves_the_ring_alone_and_is_counted(record):
    run = record("simple", preload=f"{LIBRARY} {BUILD}/libno_second_file.so")
    assert [file.suffix for file in run.folder.iterdir()] == [".bin"]
    assert run.done.stderr == ""
    header = run.ring()["header"]
    assert (header["sidecar"], header["names_dropped"], header["trouble"]) == (0, 1, 0)


def test_a_child_names_its_libraries_in_its_own(record):
    run = record("fork")
    rings = sorted(run.folder.glob("*.bin"))
    assert len(rings) == 2
    by_size = sorted((library_names(ring) for ring in rings), key=len)
    assert set(by_size[0].values()) <= set(by_size[1].values()) == {"libc10_cuda.so", "program"}


def test_it_stays_whole_whether_the_exit_was_clean_or_not(record):
    for scenario in ("simple", "oom", "killed"):
        ring = the_ring(record(scenario, MEMSNAP_OUT=f"{scenario}.bin", MEMSNAP_QUIET=1), f"{scenario}.bin")
        assert library_names(ring)
