# SPDX-License-Identifier: Apache-2.0
"""Birth sites without Python: native stacks, their names, and what they must not do to the program. The C library's own unwinder is
the judge; Python stacks on real PyTorch are tests/e2e/test_sites.py's."""

import os
import shutil
import stat
import subprocess

import pytest

from recorded import BLOCK_ALLOC, BUILD, LIBRARY, OK, TRY, read_ring, records_of
from sidecar import NATIVE_CUT, path_of, read_sidecar

AUTOMATIC, PYTHON, NATIVE, BOTH, OFF = 1, 2, 3, 4, 0
WALKING, MISSING, NOT_WANTED = 1, 2, 0
KIBIBYTE = 1024


@pytest.fixture
def stacks(record, tmp_path):
    """stacks("plain", MEMSNAP_STACK="native") runs a scenario of stacks.cpp."""

    def run(scenario, *arguments, **environment):
        run = record(command=[BUILD / "stacks", scenario, *map(str, arguments)], FAKE_CUDA=BUILD / "libfake_cuda.so", **environment)
        assert run.done.returncode == 0, run.done.stderr
        return run

    return run


def the_ring(run):
    (ring,) = run.folder.glob("*.bin")
    return ring


def stacks_word(header):
    return list(header["stacks"].to_bytes(4, "little"))


def blocks(ring):
    return records_of(ring, BLOCK_ALLOC)


def test_native_frames_are_those_that_the_c_librarys_unwinder_sees(stacks):
    run = stacks("plain")
    for told, recorded in told_and_recorded(run):
        assert recorded == told
    sidecar = read_sidecar(the_ring(run))
    for block in blocks(run.ring())[1:]:
        stack = sidecar.stacks[block["link"]]
        assert (stack.python, stack.flags) == ([], 0)
        objects = [os.path.basename(one.path) for one in sidecar.native(block["link"])]
        assert objects[:3] == ["libc10_cuda.so", "stacks", "stacks"]


def told_and_recorded(run):
    """Pairs of the callers of `innermost` as the C library's unwinder told them and as the sidecar has them."""
    on_top = 3  # the frame that reports, and the place in `innermost` that calls it
    told = [list(map(int, line.split())) for line in run.done.stdout.splitlines()]
    sidecar = read_sidecar(the_ring(run))
    born = blocks(run.ring())[1:]
    assert [block["size"] for block in born] == [size for size, *_ in told]
    return [(callers, sidecar.stacks[block["link"]].native[on_top:]) for block, (_, _, *callers) in zip(born, told)]


def test_places_that_are_come_back_to_have_their_own_frames_each_time(stacks):
    pairs = told_and_recorded(stacks("again"))
    assert len(pairs) == 180
    for told, recorded in pairs:
        assert recorded == told


def test_one_place_has_one_token_and_another_caller_another_one(stacks):
    first, other, second, thread = [block["link"] for block in blocks(stacks("plain").ring())[1:]]
    assert len({first, other, second, thread}) == 4  # `outermost` is called from two lines
    again = [block["link"] for block in blocks(stacks("many", 3, MEMSNAP_OUT="again.bin").rings()[-1])[1:]]
    assert len(set(again)) == 3


def test_a_call_of_another_library_has_its_site_in_the_attempt_the_success_and_the_object(stacks):
    run = stacks("foreign")
    ring = run.ring()
    (attempt,), (success,) = records_of(ring, TRY), records_of(ring, OK)
    assert attempt["link"] == success["link"] != 0
    top = read_sidecar(the_ring(run)).native(success["link"])[0]
    assert os.path.basename(top.path) == "stacks"  # the caller, not the recorder


def test_the_header_says_what_is_walked(stacks):
    assert stacks_word(stacks("plain").ring()["header"]) == [AUTOMATIC, 0, WALKING, 48]


@pytest.mark.parametrize(
    ("wish", "said"),
    [("native", [NATIVE, 0, WALKING, 48]), ("both", [BOTH, 0, WALKING, 48]), ("nonsense", [AUTOMATIC, 0, WALKING, 48])],
)
def test_native_frames_are_recorded_where_they_are_wished_for(stacks, wish, said):
    run = stacks("plain", MEMSNAP_STACK=wish)
    assert stacks_word(run.ring()["header"]) == said
    assert all(block["link"] for block in blocks(run.ring())[1:])


@pytest.mark.parametrize(("wish", "said"), [("off", [OFF, 0, NOT_WANTED, 48]), ("python", [PYTHON, 0, NOT_WANTED, 48])])
def test_where_native_frames_are_not_wanted_libunwind_is_not_loaded_and_nothing_is_missed(stacks, wish, said):
    run = stacks("not_waiting", MEMSNAP_STACK=wish)
    header = run.ring()["header"]
    assert (stacks_word(header), header["no_stack"]) == (said, 0)
    assert [block["link"] for block in blocks(run.ring())] == [0, 0]
    assert read_sidecar(the_ring(run)).stacks == {}


def test_without_libunwind_births_are_counted_and_nothing_else_happens(stacks, tmp_path):
    (tmp_path / "libunwind.so.8").write_text("not a library")
    run = stacks("plain", LD_LIBRARY_PATH=tmp_path)
    header = run.ring()["header"]
    assert stacks_word(header) == [AUTOMATIC, 0, MISSING, 48]
    assert (header["no_stack"], header["trouble"], run.done.stderr) == (len(blocks(run.ring())), 0, "")


def test_a_deeper_stack_is_cut_and_says_so(stacks):
    for depth, wanted in [(48, {}), (7, {"MEMSNAP_DEPTH": 7}), (128, {"MEMSNAP_DEPTH": 128}), (48, {"MEMSNAP_DEPTH": 129})]:
        run = stacks("deep", 200, MEMSNAP_OUT=f"{depth}-{len(wanted)}.bin", **wanted)
        file = run.folder / f"{depth}-{len(wanted)}.bin"
        told = list(map(int, run.done.stdout.split()))
        deep = read_sidecar(file).stacks[blocks(read_ring(file))[-1]["link"]]
        assert (len(deep.native), deep.flags) == (depth, NATIVE_CUT)
        assert deep.native[3:] == told[2 : depth - 1]


def test_an_object_that_came_to_lie_where_another_was_is_not_taken_for_it(stacks, tmp_path):
    names = ["first.so", "second.so", "first.so", "third.so"]
    for name in set(names):
        shutil.copy(BUILD / "libplugin_13.so", tmp_path / name)
    run = stacks("plugins", *(tmp_path / name for name in names))
    # What makes it hard: they all lay at one place.
    assert len(set(run.done.stdout.split())) == 1
    sidecar = read_sidecar(the_ring(run))
    tops = [os.path.basename(sidecar.native(one["link"])[0].path) for one in records_of(run.ring(), TRY)]
    assert tops == names


def test_where_other_code_came_to_lie_its_frames_are_learnt_anew(stacks):
    # Libraries of one size with different content: what was learnt of the frames of one is untrue of the other.
    libraries = [BUILD / "libplugin_13.so", BUILD / "libplugin_12.so", BUILD / "libplugin_13.so"]
    run = stacks("plugins", *libraries)
    sidecar = read_sidecar(the_ring(run))
    attempts = records_of(run.ring(), TRY)
    assert [sidecar.native(one["link"])[0].path for one in attempts] == list(map(str, libraries))
    assert len({tuple(os.path.basename(frame.path) for frame in sidecar.native(one["link"])[1:]) for one in attempts}) == 1
    assert run.ring()["header"]["no_stack"] == 0


def test_loaded_objects_are_told_with_their_build_ids_and_places(stacks):
    run = stacks("plain")
    by_name = {os.path.basename(one.path): one for one in read_sidecar(the_ring(run)).objects}
    program = by_name["stacks"]
    notes = subprocess.run(["readelf", "-n", BUILD / "stacks"], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {program.build_id.hex()}" in notes
    assert (program.path, program.begin) == (str(BUILD / "stacks"), program.bias)
    # Loaded after the recording began, by the program and by the recorder.
    assert {"libfake_cuda.so", "libunwind.so.8", "libc.so.6", "libmemsnap.so"} <= set(by_name)


def test_a_program_that_is_killed_has_left_the_objects_it_started_with(record):
    run = record("killed")
    assert {"program", "libc.so.6"} <= {os.path.basename(one.path) for one in read_sidecar(the_ring(run)).objects}


def test_a_full_sidecar_is_counted_and_tokens_go_on(stacks):
    run = stacks("many", 20000, MEMSNAP_NAMES_MB=1, MEMSNAP_RING_MB=2, MEMSNAP_TABLE_ENTRIES=65536)
    header = run.ring()["header"]
    assert path_of(the_ring(run)).stat().st_size == KIBIBYTE * KIBIBYTE
    told = set(read_sidecar(the_ring(run)).stacks)
    tokens = [block["link"] for block in blocks(run.ring())]
    assert len(set(tokens)) == len(tokens) == 20001
    assert told < set(tokens)
    assert len(told) + header["names_dropped"] >= 20001


def test_a_clean_exit_gives_the_unused_rest_of_the_sidecar_back(stacks):
    file = path_of(the_ring(stacks("plain"))).stat()
    assert file.st_size == 16 * KIBIBYTE * KIBIBYTE
    assert file.st_blocks * 512 <= KIBIBYTE * KIBIBYTE
    assert stat.S_IMODE(file.st_mode) == 0o600


def test_without_stacks_the_sidecar_is_small(stacks):
    assert path_of(the_ring(stacks("not_waiting", MEMSNAP_STACK="off"))).stat().st_size == 256 * KIBIBYTE


def test_without_a_sidecar_there_are_tokens_all_the_same(stacks):
    run = stacks("plain", MEMSNAP_NAMES=0)
    assert len({block["link"] for block in blocks(run.ring())[1:]} - {0}) == 4
    assert not path_of(the_ring(run)).exists()


def test_births_in_constructors_have_stacks_while_others_load_and_unload(stacks):
    run = stacks("constructors", BUILD / "libconstructor_plugin.so")
    sidecar = read_sidecar(the_ring(run))
    attempts = records_of(run.ring(), TRY)
    assert len(attempts) == 50
    for attempt in attempts:
        assert os.path.basename(sidecar.native(attempt["link"])[0].path) == "libconstructor_plugin.so"


def test_children_forked_while_others_walk_can_walk_themselves(stacks):
    run = stacks("forks", MEMSNAP_KEEP="incident", MEMSNAP_NAMES_MB=1)
    assert run.done.stdout == "failed 0\n"
    children = [ring for ring in sorted(run.folder.glob("*.bin")) if read_ring(ring)["header"]["exit_mark"] == 0]
    assert len(children) == 60
    for ring in children:
        sidecar = read_sidecar(ring)
        first, second = [block["link"] for block in blocks(read_ring(ring))]
        # In its own sidecar, with the objects that it has inherited.
        assert {os.path.basename(one.path) for one in sidecar.native(first)} >= {"stacks", "libc10_cuda.so", "libc.so.6"}
        assert first != second and len(sidecar.stacks) == 2


def test_walking_frames_that_are_new_opens_and_allocates_nothing_and_known_ones_cost_no_system_call(tmp_path):
    log, walks = tmp_path / "calls", 500
    traced = ["strace", "-f", "-o", log, BUILD / "stacks", "many", str(walks)]
    done = subprocess.run(
        traced, cwd=tmp_path, capture_output=True, text=True, timeout=60,
        env={**os.environ, "LD_PRELOAD": str(LIBRARY), "FAKE_CUDA": str(BUILD / "libfake_cuda.so"), "MEMSNAP_RING_MB": "1"},
    )
    assert done.returncode == 0, done.stderr
    calls = [line.split(maxsplit=1) for line in log.read_text().splitlines()]
    # A call that another thread's comes between has a second line, of its end.
    mine = [call for thread, call in calls if thread == calls[0][0] and not call.startswith("<... ")]
    # From its last look at the file, which said that frames are walked, the program only walks, until it says so.
    begin = max(i for i, call in enumerate(mine) if call.startswith("pread64")) + 2
    walking = [call.partition("(")[0] for call in mine[begin : next(i for i in range(begin, len(mine)) if mine[i].startswith("write(1, \"walked"))]]
    # libunwind's cold path, a look at each page of the stack; the linker's lock, and word to the side thread of code that no known object holds.
    assert set(walking) <= {"rt_sigprocmask", "mincore", "mmap", "munmap", "getpid", "process_vm_readv", "futex"}
    assert 0 < len(walking) < walks
