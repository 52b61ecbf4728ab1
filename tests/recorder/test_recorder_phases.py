# SPDX-License-Identifier: Apache-2.0
"""What a program tells of phases, steps, notes and limits, and the boundaries made of it."""

import subprocess

import pytest

from marked import (CAP, CATEGORY, COLLECTION, COLLECTION_OFF, IMPLIED, LABEL, MARK, MODULE, NOTE, OPTIMIZER, PHASE_BEGIN,
                    PHASE_END, RANGE, STEP, STEPS, UNOPENED, Marked, marked)
from recorded import BLOCK_ALLOC, BUILD, LIBRARY, MEM_INFO, clean_environment, records_of
from sidecar import read_sidecar

FAKE_CUDA = {"FAKE_CUDA": BUILD / "libfake_cuda.so"}


def begin(family, name):
    return f"begin {family} {name}"


@pytest.fixture
def marks(record):
    return lambda *commands, **environment: marked(record, *commands, **environment)


def test_a_range_is_told_by_its_edges_and_the_end_names_the_begin(marks):
    ring = marks("alloc", begin(RANGE, "forward"), begin(COLLECTION, "gc 2"), "end", "end").ring

    opened, ended = records_of(ring, PHASE_BEGIN), records_of(ring, PHASE_END)
    assert [one["code"] for one in opened] == [RANGE, COLLECTION]
    assert [one["size"] for one in opened] == [0, 2]  # the generation collected
    assert [one["address"] for one in ended] == [opened[1]["ticket"], opened[0]["ticket"]]
    assert [one["link"] for one in ended] == [opened[1]["link"], opened[0]["link"]]


def test_a_block_is_born_in_the_innermost_labelling_range_of_its_thread(marks):
    done = marks("alloc", begin(RANGE, "outer"), "alloc", begin(LABEL, "layer3"), "alloc", begin(COLLECTION, "gc"), "alloc", "end", "end",
                 "alloc", begin(OPTIMIZER, "adam"), "alloc", "end", "end", "alloc")

    assert done.born_in() == ["", "outer", "layer#", "layer#", "outer", "adam", ""]


def test_ranges_may_close_out_of_order(marks):
    done = marks("alloc", begin(RANGE, "a"), begin(LABEL, "b"), begin(LABEL, "c"), "end 1", "alloc", "end 0", "alloc", "end 2", "alloc", "end 2")

    assert done.edges() == ["begin a", "begin b", "begin c", "end b", "end a", "end c"]
    assert done.born_in() == ["", "c", "c", ""]


def test_a_thread_that_never_labels_is_in_the_phase_of_the_only_thread_that_does(marks):
    """Autograd's threads: the backward pass is told by the thread that waits for them."""
    done = marks("alloc", begin(LABEL, "backward"), "@2 alloc", "@3 begin 0 data", "@2 alloc", "@3 end", "@2 alloc", "@3 alloc", "end", "@2 alloc")

    assert done.born_in() == ["", "backward", "", "backward", "", ""]


def test_ranges_opened_before_the_first_event_are_told_at_their_threads_first_event(marks):
    done = marks(begin(RANGE, "over"), "end", begin(RANGE, "train"), begin(LABEL, "load"), "@2 begin 0 other", "alloc", "end 1", "@2 alloc", "@2 end 2", "end 0")

    assert done.phases() == [("begin", "train", RANGE, 1), ("begin", "load", LABEL, 1), ("end", "load", LABEL, 1),
                             ("begin", "other", LABEL, 2), ("end", "other", LABEL, 2), ("end", "train", RANGE, 1)]
    assert done.born_in() == ["load", "other"]


def test_marks_alone_make_no_file(record):
    run = record(command=[BUILD / "marks", begin(RANGE, "a"), "end", "step", "note batch 3", "cap 0 1000 2", "mark x", "push y", "pop"], MEMSNAP_NVTX=1)

    assert run.done.returncode == 0 and list(run.folder.iterdir()) == []


def test_ranges_too_deep_are_counted_and_those_around_them_stay_right(marks):
    done = marks("alloc", *[begin(LABEL, f"{chr(97 + i % 26)}{chr(97 + i // 26)}") for i in range(64)], *[begin(LABEL, "deep")] * 3, "alloc", *["end"] * 67, "alloc")

    assert done.edges().count("begin deep") == 0 and len(done.edges()) == 128
    assert done.born_in() == ["", "lc", ""]
    assert done.ring["header"]["boundaries_dropped"] == 3


def test_names_are_told_once_with_their_digits_folded_and_cut_at_a_character(marks):
    done = marks("alloc", begin(LABEL, "step12"), "end", begin(LABEL, "step7"), "end", begin(LABEL, "step12"), "end", begin(LABEL, "é" * 200), "end")

    names = [(done.names[one["link"] >> 32], done.names[one["link"] & 0xFFFF]) for one in records_of(done.ring, PHASE_BEGIN)]
    assert names == [("step12", "step#"), ("step7", "step#"), ("step12", "step#"), ("é" * 127, "é" * 127)]
    assert sorted(done.names.values()) == ["step#", "step12", "step7", "é" * 127]


def test_names_beyond_the_table_are_dropped_and_counted(marks):
    done = marks("alloc", *[f"mark {i:x}x".translate(str.maketrans("0123456789", "ghijklmnop")) for i in range(4200)])

    assert len(done.names) == 4096
    assert done.ring["header"]["names_dropped"] == 4200 - 4096
    assert [one["link"] for one in records_of(done.ring, MARK)][4096:] == [0] * 104


def test_without_a_sidecar_ids_are_the_same(record, tmp_path):
    commands = ["alloc", begin(RANGE, "a1"), "end"]
    with_names = marked(record, *commands, MEMSNAP_OUT="one.bin")
    (tmp_path / "one.bin").unlink()
    run = record(command=[BUILD / "marks", *commands], MEMSNAP_NAMES=0, MEMSNAP_OUT="two.bin")

    links = [one["link"] for one in records_of(run.ring(), PHASE_BEGIN)]
    assert links == [one["link"] for one in records_of(with_names.ring, PHASE_BEGIN)] and links[0] != 0


def test_steps_are_numbered_and_blocks_know_how_many_ended_before_them(marks):
    done = marks("alloc", "step train 0", "alloc", "step train 1", "alloc")

    assert done.steps() == [(1, 0), (2, COLLECTION_OFF)]
    assert done.born_after() == [0, 1, 2]
    steps = done.boundaries(STEPS)
    assert [one["opened"] for one in steps] == [UNOPENED, steps[0]["ticket"]]
    assert done.boundary_names() == ["train", "train"]


def test_the_end_of_an_optimizer_step_ends_a_step_until_the_program_tells_of_steps(marks):
    optimizer = [begin(OPTIMIZER, "adam"), "end"]
    done = marks("alloc", *optimizer, *optimizer, "step", *optimizer, "step")

    assert done.steps() == [(1, IMPLIED), (2, IMPLIED), (2, 0), (3, 0)]  # the first one told is the one that was implied
    assert [one["family"] for one in done.boundaries()] == [OPTIMIZER, OPTIMIZER, STEPS, OPTIMIZER, STEPS]


def test_an_implied_step_says_whether_cyclic_collection_is_off(marks):
    done = marks("alloc", f"{begin(OPTIMIZER, 'adam')} 1", "end", f"{begin(OPTIMIZER, 'adam')} 0", "end")

    assert done.steps() == [(1, IMPLIED | COLLECTION_OFF), (2, IMPLIED)]


def test_a_step_told_before_the_first_event_counts_as_telling_of_steps(marks):
    assert marks("step", "alloc", begin(OPTIMIZER, "adam"), "end").steps() == []


def test_an_optimizer_that_calls_another_is_one_boundary_and_one_step(marks):
    done = marks("alloc", begin(OPTIMIZER, "wrapper"), begin(OPTIMIZER, "adam"), "end", "end")

    assert done.steps() == [(1, IMPLIED)]
    assert done.boundary_names() == ["wrapper"]


def test_a_boundary_says_where_each_reported_device_stood(marks):
    done = marks("cuInit", "alloc 1024 0", "observe", "alloc 2048 1", begin(RANGE, "epoch"), begin(LABEL, "label"), begin(RANGE, "inner"), "end", "end", "end", **FAKE_CUDA)

    inner_0, inner_1, outer_0, outer_1 = done.boundaries()
    assert done.boundary_names() == ["inner", "inner", "epoch", "epoch"]
    assert [one["device"] for one in done.boundaries()] == [0, 1, 0, 1]
    assert [one["ordinal"] for one in done.boundaries()] == [0, 0, 1, 1]
    assert [one["depth"] for one in done.boundaries()] == [1, 1, 0, 0]  # a label around it does not count
    assert (inner_0["allocated"], inner_1["allocated"], inner_0["reserved"]) == (1024, 2048, 64 << 20)
    (observation,) = records_of(done.ring, MEM_INFO)
    assert (inner_0["free"], inner_1["free"]) == (observation["link"], None)
    begins, ends = records_of(done.ring, PHASE_BEGIN), records_of(done.ring, PHASE_END)
    assert (inner_0["ticket"], inner_0["opened"], inner_0["time"]) == (ends[0]["ticket"], begins[2]["ticket"], ends[0]["time"])
    assert outer_1["thread"] == begins[0]["thread"]


def test_labels_and_collections_make_no_boundary_and_without_blocks_there_is_none(marks):
    done = marks("observe", begin(RANGE, "early"), "end", "alloc", begin(LABEL, "a"), "end", begin(COLLECTION, "gc"), "end")

    assert done.boundaries() == []


def test_the_observation_before_the_first_boundary_is_pinned(marks):
    done = marks("cuInit", "alloc", "observe", "observe", "step", "observe", "step", MEMSNAP_KEEP="always", **FAKE_CUDA)

    pinned = [one for one in done.ring["pinned"][15:17] if one is not None]
    assert [one["ticket"] for one in pinned] == [records_of(done.ring, MEM_INFO)[1]["ticket"]]


def test_an_observation_after_the_first_boundary_is_not_taken_for_one_before_it(marks):
    assert marks("cuInit", "alloc", "step", "observe", "step", **FAKE_CUDA).ring["pinned"][15:17] == [None, None]


def numbers(boundaries):
    return [one["ordinal"] for one in boundaries]


def test_a_full_table_keeps_every_second_boundary_of_a_family_then_every_fourth(marks):
    done = marks("alloc", "300 x step s", MEMSNAP_BOUNDARY_ENTRIES=64)

    header = done.ring["header"]
    assert header["boundary_stride"] == 8 and header["boundary_count"] == 64
    assert numbers(done.boundaries()) == list(range(0, 300, 8))
    assert header["boundaries_dropped"] == 300 - len(done.boundaries())


def test_thinning_keeps_outermost_ranges_among_many_nested_ones(marks):
    step = [begin(RANGE, "train"), *[begin(RANGE, "layer"), "end"] * 3, "end"]
    done = marks("alloc", *step * 100, MEMSNAP_BOUNDARY_ENTRIES=64)

    stride = done.ring["header"]["boundary_stride"]
    assert stride >= 8
    for depth in (0, 1):
        kept = numbers(one for one in done.boundaries() if one["depth"] == depth)
        assert len(kept) >= 8
    outermost = numbers(one for one in done.boundaries() if one["depth"] == 0)
    assert {b - a for a, b in zip(outermost, outermost[1:])} == {4 * stride}


def test_a_boundary_is_there_for_all_devices_or_for_none(marks):
    done = marks("alloc 512 0", "alloc 512 1", "alloc 512 2", "200 x step s", MEMSNAP_BOUNDARY_ENTRIES=64)

    by_ordinal = {}
    for one in done.boundaries():
        by_ordinal.setdefault(one["ordinal"], []).append(one["device"])
    assert set(map(tuple, by_ordinal.values())) == {(0, 1, 2)}
    assert list(by_ordinal) == list(range(0, 200, done.ring["header"]["boundary_stride"]))


def test_noted_dimensions_make_boundaries_differ_and_changing_back_makes_them_equal(marks):
    done = marks("alloc", "step", "note batch 8", "step", "note sequence 512", "step", "note batch 4", "step", "note batch 8", "step", "note batch -1", "step")

    dimensions = [one["dimensions"] for one in done.boundaries()]
    assert dimensions[0] == 0 and 0 not in dimensions[1:]
    assert dimensions[2] == dimensions[4] and len(set(dimensions)) == 5
    notes = [(done.names[one["link"]], one["size"]) for one in records_of(done.ring, NOTE)]
    assert notes == [("batch", 8), ("sequence", 512), ("batch", 4), ("batch", 8), ("batch", 2**64 - 1)]


def test_dimensions_beyond_the_sixteenth_are_recorded_and_do_not_make_boundaries_differ(marks):
    done = marks("alloc", *[f"note d{chr(97 + i)} 1" for i in range(16)], "step", "note more 1", "step", "note da 2", "step")

    first, second, third = [one["dimensions"] for one in done.boundaries()]
    assert first == second != third
    assert len(records_of(done.ring, NOTE)) == 18


def test_what_was_noted_and_limited_before_the_first_event_is_told_then_with_its_last_value(marks):
    done = marks("note batch 8", "note batch 16", "cap 0 1000 1", "cap 0 2000 1", "cap 1 3000 2", "@2 alloc", "step", MEMSNAP_KEEP="always")

    assert [(done.names[one["link"]], one["size"]) for one in records_of(done.ring, NOTE)] == [("batch", 16)]
    assert [(one["device"], one["link"], one["code"]) for one in records_of(done.ring, CAP)] == [(0, 2000, 1), (1, 3000, 2)]
    assert done.boundaries()[0]["dimensions"] != 0


def test_a_limit_is_pinned(marks):
    done = marks("alloc", "cap 0 1000 2", "cap 0 2000 2", "cap 0 3000 1", MEMSNAP_KEEP="always")

    assert sorted(one["link"] for one in done.ring["pinned"][13:15]) == [2000, 3000]


def test_categories_and_marks_are_records(marks):
    done = marks("alloc 1024", "category 0 3", "mark here7")

    (block,), (told,), (mark,) = (records_of(done.ring, kind) for kind in (BLOCK_ALLOC, CATEGORY, MARK))
    assert (told["address"], told["size"], told["device"], told["code"]) == (block["address"], 1024, 0, 3)
    assert (done.names[mark["link"] >> 32], done.names[mark["link"] & 0xFFFF]) == ("here7", "here#")


def test_a_child_starts_without_its_parents_ranges_and_ignores_their_ends(record):
    run = record(command=[BUILD / "marks", "alloc", begin(RANGE, "parent"), "step", "fork", "alloc", begin(LABEL, "own"), "end 0", "alloc", "end 1", "join", "end 0"],
                 MEMSNAP_OUT="ring-%p.bin")

    rings = {tuple((one["kind"], one["code"]) for one in ring["records"] if one["kind"] in (PHASE_BEGIN, PHASE_END)): ring for ring in run.rings()}
    assert set(rings) == {((PHASE_BEGIN, RANGE), (PHASE_END, RANGE)), ((PHASE_BEGIN, LABEL), (PHASE_END, LABEL))}
    child = rings[(PHASE_BEGIN, LABEL), (PHASE_END, LABEL)]
    assert [one["phase"] != 0 for one in child["places"]] == [False, True]
    assert [one["step"] for one in child["places"]] == [0, 0] and child["boundaries"] == []


def test_used_boundaries_outlive_a_clean_exit_and_the_rest_of_their_area_is_given_back(record):
    run = record(command=[BUILD / "marks", "alloc", "step", "step"])

    (file,) = run.folder.glob("*.bin")
    assert len(run.ring()["boundaries"]) == 2
    assert file.stat().st_blocks * 512 < 4 << 20


def test_many_threads_that_mark_at_once_leave_a_whole_file(marks):
    done = marks("alloc", "race 400", MEMSNAP_BOUNDARY_ENTRIES=64, MEMSNAP_RING_MB=4)

    assert done.ring["gap_count"] == 0
    assert len(records_of(done.ring, PHASE_BEGIN)) == len(records_of(done.ring, PHASE_END))
    told = [number for number, flags in done.steps() if not flags & IMPLIED]
    numbers = sorted(number for number, _ in done.steps())
    assert len(told) == 400 and sorted(set(numbers)) == list(range(1, numbers[-1] + 1))
    assert len(numbers) - numbers[-1] <= 1  # the first one told may have the number of an implied one


def test_after_every_instruction_of_a_mark_the_file_is_whole(tmp_path):
    """With a table that is thinned on the way: an entry is whole or not there."""
    commands = ["alloc", "62 x step s", begin(RANGE, "r"), "end", "stop_here", begin(RANGE, "r"), begin(LABEL, "new1"), "end", "end", "4 x step t", "note n 1", "cap 0 1 2", "stop_here"]
    done = subprocess.run(
        [BUILD / "step_kill", tmp_path, "100000", "7", BUILD / "marks", *commands],
        cwd=tmp_path,
        env=clean_environment(LD_PRELOAD=LIBRARY, MEMSNAP_RING_MB=1, MEMSNAP_TABLE_ENTRIES=64,
                              MEMSNAP_BOUNDARY_ENTRIES=64, MEMSNAP_QUIET=1, MEMSNAP_STACK="off", MEMSNAP_SAMPLE_MS=0),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[2]) >= 100, done.stdout


def module_run(record, *events):
    run = record(command=[BUILD / "module_calls", *events], preload="", MEMSNAP_STACK="off", MEMSNAP_SAMPLE_MS=0)
    assert run.done.returncode == 0, run.done
    (file,) = run.folder.glob("*.bin")
    return Marked(run, run.ring(), read_sidecar(file).names)


BORN_OUTSIDE, FREED_OUTSIDE = "0 0 0 0 b", "0 0 0 0 f"


def call(frame=100, module=7, instruction=20, activation=1, what="b"):
    return f"{frame} {module} {instruction} {activation} {what}"


def test_a_module_call_is_a_range_from_the_first_birth_in_it_to_the_first_event_outside(record):
    done = module_run(record, BORN_OUTSIDE, FREED_OUTSIDE, call(), call(what="f"), BORN_OUTSIDE, FREED_OUTSIDE, call(), call(what="f"), FREED_OUTSIDE)

    kinds = [one["kind"] for one in done.ring["records"]]
    assert kinds == [1, 2, PHASE_BEGIN, 1, 2, PHASE_END, 1, 2, PHASE_BEGIN, 1, 2, PHASE_END, 2]
    assert [one["family"] for one in done.boundaries()] == [MODULE, MODULE]
    first, second = done.boundaries()
    assert first["folded"] == first["name"] == second["folded"] != 0


@pytest.mark.parametrize("other", [call(frame=200), call(activation=2), call(module=8), call(instruction=30)],
                         ids=["frame", "activation", "module", "place"])
def test_another_module_call_ends_the_one_before(record, other):
    done = module_run(record, BORN_OUTSIDE, FREED_OUTSIDE, call(), call(what="f"), other, FREED_OUTSIDE)

    first, second = done.boundaries()
    assert (first["folded"] == second["folded"]) == (other in (call(frame=200), call(activation=2)))


def test_calls_that_no_version_tells_apart_are_one_range_until_an_event_outside(record):
    unknown = [call(activation=0), call(activation=0, what="f")]
    done = module_run(record, BORN_OUTSIDE, FREED_OUTSIDE, *unknown * 3, BORN_OUTSIDE, *unknown, FREED_OUTSIDE)

    assert len(done.boundaries()) == 2


def test_a_free_inside_a_module_call_opens_no_range(record):
    assert module_run(record, BORN_OUTSIDE, call(what="f"), BORN_OUTSIDE).boundaries() == []


def test_a_module_range_labels_no_birth(record):
    done = module_run(record, BORN_OUTSIDE, FREED_OUTSIDE, call())

    assert done.born_in() == [""]
