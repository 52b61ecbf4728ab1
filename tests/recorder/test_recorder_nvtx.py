# SPDX-License-Identifier: Apache-2.0
"""Ranges told through NVTX, by a program and by libraries with copies of it of their own."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from marked import LABEL, RANGE, marked
from recorded import BUILD, LIBRARY, clean_environment

VARIABLE = "NVTX_INJECTION64_PATH"
PLUGIN = {"NVTX_PLUGIN": BUILD / "libnvtx_plugin.so"}

pytestmark = pytest.mark.skipif(not PLUGIN["NVTX_PLUGIN"].exists(), reason="NVTX's headers were not at hand")


@pytest.fixture
def marks(record):
    return lambda *commands, **environment: marked(record, *commands, **environment)


def test_pushed_ranges_are_boundaries_and_label_births(marks):
    done = marks("alloc", "push outer", "push inner", "alloc", "pop", "alloc", "pop", "alloc")

    assert done.phases() == [("begin", "outer", RANGE, 1), ("begin", "inner", RANGE, 1), ("end", "inner", RANGE, 1), ("end", "outer", RANGE, 1)]
    assert done.born_in() == ["", "inner", "outer", ""]
    assert [(name, one["depth"]) for name, one in zip(done.boundary_names(), done.boundaries())] == [("inner", 1), ("outer", 0)]


def test_every_form_of_a_message_is_the_same_name(marks):
    forms = ["push", "push_ascii_ex", "push_wide_ex", "push_registered"]
    done = marks("alloc", *[command for form in forms for command in (f"{form} layer7", "pop")])

    assert done.edges() == ["begin layer7", "end layer7"] * 4
    assert len(set(one["link"] for one in done.ring["records"] if one["kind"] == 48)) == 1


def test_wide_texts_become_utf8(marks):
    assert marks("alloc", "push_wide naive", "pop").edges() == ["begin naive\u00e9\u20ac\U0001f40d", "end naive\u00e9\u20ac\U0001f40d"]


@pytest.mark.parametrize("name", ["aten::add,_seq_=_3", "autograd::engine::evaluate_function:_MulBackward0", "MulBackward0,_seq_=_12"])
def test_an_operators_range_is_a_label(marks, name):
    done = marks("alloc", f"push {name}", "alloc", "pop")

    assert [family for _, _, family, _ in done.phases()] == [LABEL, LABEL]
    assert done.boundaries() == [] and done.born_in()[1] != ""


def test_a_domains_ranges_are_labels_and_end_with_their_own_domains_pop(marks):
    done = marks("alloc", "domain_push NCCL ncclAllReduce", "push step", "domain_push cublas gemm", "domain_pop NCCL", "pop", "domain_pop cublas", "domain_push_registered NCCL again", "domain_pop NCCL")

    assert done.edges() == ["begin ncclAllReduce", "begin step", "begin gemm", "end ncclAllReduce", "end step", "end gemm", "begin again", "end again"]
    assert done.boundary_names() == ["step"]


def test_a_started_range_labels_its_threads_births_until_any_thread_ends_it(marks):
    done = marks("alloc", "@2 push own", "@2 start crossing", "@2 alloc", "stop", "@2 alloc", "@2 pop", "@2 alloc")

    assert done.phases() == [("begin", "own", RANGE, 2), ("begin", "crossing", LABEL, 2), ("end", "crossing", LABEL, 2), ("end", "own", RANGE, 2)]
    assert done.born_in() == ["", "crossing", "own", ""]


def test_pushes_too_deep_to_be_kept_are_popped_first(marks):
    done = marks("alloc", "70 x push a", "6 x pop", "alloc", "64 x pop", "push after", "alloc", "pop", "alloc")

    assert done.born_in() == ["", "a", "after", ""]
    assert done.edges().count("end a") == done.edges().count("begin a") == 64


def test_ranges_too_deep_that_end_by_handle_leave_pops_right(marks):
    done = marks("alloc", "64 x begin 0 a", "begin 0 deep", *["end"] * 65, "push after", "alloc", "pop", "alloc")

    assert done.born_in() == ["", "after", ""]


def test_started_ranges_that_nothing_ends_leave_room_for_others(marks):
    done = marks("alloc", "100 x start lost", "alloc", "push kept", "alloc", "pop")

    assert done.born_in() == ["", "lost", "kept"] and done.boundary_names() == ["kept"]
    assert done.edges().count("begin lost") == 32
    assert done.ring["header"]["boundaries_dropped"] == 68


def test_ranges_that_ended_between_others_leave_their_places(marks):
    between = ["push a", "push b", "push c", "start lost", "pop", "pop", "pop"]
    done = marks("alloc", *between * 40, "push last", "alloc", "push inside", "alloc", "pop", "alloc", "pop")

    assert done.born_in() == ["", "last", "inside", "last"]
    assert done.boundary_names().count("a") == 40 and done.boundary_names()[-2:] == ["inside", "last"]


def test_a_pop_of_another_domain_ends_its_own_range_beside_ranges_too_deep(marks):
    done = marks("alloc", "domain_push d other", "64 x push a", "domain_pop d", "alloc", "pop", "pop", "alloc")

    assert done.edges().count("end other") == 1
    assert done.edges().count("begin a") == 63 and done.edges().count("end a") == 1
    assert done.born_in() == ["", "a", "a"]


def test_what_is_pushed_inside_a_range_too_deep_ends_before_it(marks):
    done = marks("alloc", "push outer", "63 x begin 0 a", "push deep", *["end"] * 63, "push inside", "pop", "pop", "alloc", "pop", "alloc")

    assert "begin inside" not in done.edges()
    assert done.born_in() == ["", "outer", ""]


def test_a_range_too_deep_that_another_thread_ends_leaves_that_threads_pops_right(marks):
    done = marks("alloc", *["@2 start lost"] * 65, "64 x push a", "push deeper", "stop", "pop", "63 x pop", "alloc", "pop", "alloc")

    assert done.edges().count("end a") == 64 and done.born_in() == ["", "a", ""]


def test_ranges_before_the_first_event_nest_and_end(marks):
    done = marks("push gone", "pop", "push outer", "push inner", "start early", "pop", "@2 alloc", "alloc", "stop", "pop")

    assert done.edges() == ["begin outer", "begin early", "end early", "end outer"]
    assert done.born_in()[1] == "early"


def test_marks_are_recorded(marks):
    assert marks("alloc", "nvtx_mark here").phases() == [("mark", "here", 0, 1)]


def test_each_librarys_own_copy_is_followed(marks):
    done = marks("alloc", "push program", "plugin_push plugin", "alloc", "plugin_pop", "pop", **PLUGIN)

    assert done.edges() == ["begin program", "begin plugin", "end plugin", "end program"]


def test_handles_of_before_a_fork_are_good_after_it(record):
    run = record(command=[BUILD / "marks", "alloc", "domain_push d a", "fork", "alloc", "domain_pop d", "domain_push d b", "push_registered c", "pop", "domain_pop d", "join", "domain_pop d"],
                 MEMSNAP_OUT="ring-%p.bin", MEMSNAP_NVTX=1)

    assert run.done.returncode == 0
    edges = sorted([one["kind"] for one in ring["records"] if one["kind"] in (48, 49)] for ring in run.rings())
    assert edges == [[48, 48, 49, 49], [48, 49]]


def test_push_answers_as_without_a_tool(marks):
    assert marks("alloc", "print_push a").run.done.stdout == "-2\n"


def test_many_names_leave_only_the_outermost_ranges(marks):
    """So few ranges beside the allocations that their number alone is no flood."""
    done = marks("alloc", "push outer", "push_many first 600", "churn 5000", "push_many second 600", "churn 5000", "push_many third 10", "pop", "push outer", "pop", MEMSNAP_RING_MB=4)

    names = {name for _, name, _, _ in done.phases()} - {"outer"}
    assert 1020 <= len(names) <= 1024
    assert not any(name.startswith("third") for name in names)
    assert done.boundary_names().count("outer") == 2
    assert done.ring["header"]["boundaries_dropped"] == 1210 - len(names)


def test_a_flood_of_ranges_leaves_only_the_outermost_ones_until_it_is_over(marks):
    """More than one range for each 4 of 4096 allocations."""
    flood = [command for _ in range(1200) for command in ("push inner", "pop")]
    done = marks("alloc", "push outer", *flood, "start label", "stop", "pop", "push outer", "pop", "churn 9000", "push outer", "push inner", "pop", "pop",
                 "churn 5000", "push outer", "push after", "pop", "pop", MEMSNAP_RING_MB=4)

    edges = done.edges()
    assert edges.count("begin outer") == edges.count("end outer") == 4
    assert 1000 <= edges.count("begin inner") <= 1024
    assert "begin label" not in edges and "begin after" in edges
    assert done.ring["header"]["boundaries_dropped"] > 0


def variable(*command, **environment):
    done = subprocess.run(list(map(str, command)), env=clean_environment(LD_PRELOAD=LIBRARY, **environment), capture_output=True, text=True, timeout=60, cwd=environment.get("PWD"))
    assert done.returncode == 0, done
    return done.stdout.strip()


def printed(**environment):
    return variable(BUILD / "marks", f"print {VARIABLE}", **environment)


def test_the_variable_is_set_where_python_runs_and_nowhere_else():
    script = f"import os; print(os.environ.get({VARIABLE!r}))"
    assert variable(sys.executable, "-c", script) == str(LIBRARY)
    assert printed() == "unset"
    assert printed(MEMSNAP_NVTX=1) == str(LIBRARY)
    assert variable(sys.executable, "-c", script, MEMSNAP_NVTX=0) == "None"
    assert variable(sys.executable, "-c", script, MEMSNAP_DISABLE=1) == "None"


def test_a_set_variable_is_never_overwritten():
    assert printed(MEMSNAP_NVTX=1, **{VARIABLE: "/other/tool.so"}) == "/other/tool.so"
    assert printed(MEMSNAP_NVTX=1, **{VARIABLE: ""}) == ""


def test_switched_off_an_inherited_variable_tells_nothing(marks):
    done = marks("alloc", "push a", "pop", MEMSNAP_NVTX=0, **{VARIABLE: LIBRARY})

    assert done.phases() == []


def test_a_library_preloaded_by_a_relative_path_is_found_from_any_folder(tmp_path):
    shutil.copy(LIBRARY, tmp_path / "libmemsnap.so")
    done = subprocess.run([BUILD / "marks", f"print {VARIABLE}"], cwd=tmp_path, env=clean_environment(LD_PRELOAD="./libmemsnap.so", MEMSNAP_NVTX=1),
                          capture_output=True, text=True, timeout=60)
    assert pathlib.Path(os.path.normpath(done.stdout.strip())) == tmp_path / "libmemsnap.so"
