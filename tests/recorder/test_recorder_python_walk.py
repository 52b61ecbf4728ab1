# SPDX-License-Identifier: Apache-2.0
"""Python frames read without the interpreter's help, in every interpreter there is: the same ones that it shows itself, and
nothing at all where its layout is not proven. python_program.py has the scenarios."""

import json
import pathlib
import subprocess
import sys

import pytest

from interpreters import OLDER, WALKED
from recorded import BUILD, clean_environment

HERE = pathlib.Path(__file__).parent
WAITING, WALKING, UNKNOWN = 1, 2, 3


def run(python, scenario, **environment):
    done = subprocess.run(
        [python, HERE / "python_program.py", BUILD / "libpython_probe.so", scenario],
        env=clean_environment(PYTHONDONTWRITEBYTECODE=1, **environment),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(params=WALKED)
def python(request):
    return WALKED[request.param]


def number_of(python):
    return next(tuple(map(int, version.split("."))) for version, path in WALKED.items() if path == python)


def test_it_is_verified_and_then_equals_what_the_interpreter_shows(python):
    major, minor = number_of(python)
    found = run(python, "plain")
    assert found["state"] == WALKING
    assert found["version"] // 100 == major * 100 + minor
    assert found["differences"] == []


@pytest.mark.parametrize("gil", ["held", "given up"])
def test_a_thread_that_holds_the_gil_where_the_driver_starts_verifies_it_at_once(python, gil):
    """But for 3.9, where a collection, and code of the program, could run in the middle of the call that starts the driver."""
    state = WALKING if gil == "held" and number_of(python) > (3, 9) else WAITING
    expected = {"states": [state], "later": WALKING, "enabled": True, "differences": []}
    assert run(python, "inside_a_call", GIL=gil) == expected


def test_a_deep_stack_is_verified_and_cut_where_asked(python):
    assert all(differences == [] for differences in run(python, "deep").values())


def test_generators_and_coroutines_stand_where_they_are_resumed(python):
    assert all(differences == [] for differences in run(python, "generators").values())


def test_a_walk_is_recalled_only_where_it_would_come_out_the_same(python):
    found = run(python, "recalled")
    assert found["differences"] == []
    assert found["recalled"] > 90


def test_frames_on_both_sides_of_c_code_are_seen(python):
    assert run(python, "through_c") == []


def test_frames_that_are_being_made_are_left_out_as_the_interpreter_does(python):
    found = run(python, "unfinished_frames")
    assert found["calls"] > 0
    assert found["differences"] == []


def test_each_thread_sees_its_own_and_a_thread_without_python_nothing(python):
    assert run(python, "threads") == {"differences": [], "foreign": 0}


def test_a_forked_child_walks_on(python):
    assert run(python, "forks") == {"parent": [], "child": [WALKING, []]}


def test_a_child_forked_before_the_comparison_makes_its_own(python):
    assert run(python, "forks_before") == [WALKING, []]


def test_no_key_stands_for_two_sources_though_memory_of_code_is_used_again(python):
    found = run(python, "cells")
    assert found["addresses"] < 3000
    assert (found["keys"], found["shared"]) == (3000, 0)


def test_names_and_line_tables_are_read_as_they_are(python):
    found = run(python, "names")
    for text, expected in found["texts"].values():
        assert text == expected.replace("un?decodable", "un\ufffddecodable")
    assert found["long_file"] == "\u20ac" * 340 + ".py"
    assert len(found["name"]) == min(511, len(found["whole_name"])) and found["whole_name"].endswith(found["name"])
    assert found["first_line"] == 4
    assert found["huge_table"] == [0]
    assert found["own"] == found["expected"] and found["same_table"]


def test_every_wrong_offset_is_noticed_and_harms_nothing(python):
    found = run(python, "wrong_offsets")
    assert found["alive"] == []
    with_cframe = number_of(python) in [(3, 11), (3, 12)]
    with_instructions = number_of(python) >= (3, 11)
    unused = {"12": not with_instructions, "13": not with_cframe}
    for field, (unchanged, *changed) in found["outcomes"].items():
        assert unchanged == 0
        assert set(changed) == {0 if unused.get(field) else 1}, field


def test_offsets_are_those_of_the_interpreters_own_headers(python, tmp_path):
    include = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"], capture_output=True, text=True)
    folder = pathlib.Path(include.stdout.strip())
    if not (folder / "internal/pycore_frame.h").exists() and not (folder / "frameobject.h").exists():
        pytest.skip("no headers of this interpreter")
    program = tmp_path / "offsets"
    flags = ["-w", f"-I{folder}", f"-I{folder}/internal", f"-I{folder.parent}"]
    subprocess.run(["cc", *flags, "-o", program, HERE / "python_offsets.c"], check=True)
    expected = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert run(python, "layout") == json.loads(expected)


@pytest.mark.parametrize("form", ["wrapped", "plain", "cell"])
def test_the_outermost_module_call_is_found_beyond_the_kept_frames(python, form, tmp_path):
    if form == "cell" and number_of(python) < (3, 11):
        pytest.skip("no release of PyTorch for this Python calls modules so")
    found = run(python, "modules", MODULE_FOLDER=tmp_path, MODULE_FORM=form)
    assert found["before"] == found["outside"] == [[0] * 6, ""]
    assert found["modules"] == [[True, "Whole", True, True]] * 4
    first, inner, again, _ = found["frames"]
    assert first == inner and first != again
    # Frames of a loop lie where the last one lay.
    assert found["looped_frames"] < 5
    outer, inner = found["looped_activations"][::2], found["looped_activations"][1::2]
    assert outer == inner
    assert len(set(outer)) == (5 if number_of(python) < (3, 14) else 1)


def test_the_end_of_the_interpreter_is_survived(python):
    assert run(python, "ends") == []


def test_other_interpreters_of_the_process_do_no_harm(python):
    assert run(python, "other_interpreters") == {"outcome": "None", "differences": [], "state": WALKING}


def test_greenlets_are_walked_where_they_run():
    assert run(sys.executable, "greenlets") == []


@pytest.mark.skipif(OLDER is None, reason="no older interpreter here")
def test_a_version_that_is_not_known_is_left_alone():
    assert run(OLDER, "unknown_version") == UNKNOWN
