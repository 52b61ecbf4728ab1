# SPDX-License-Identifier: Apache-2.0
"""What passes by the hooks is said, once a library; what does not is not."""

import shutil
import subprocess
import time

import pytest

from recorded import BLIND, BUILD, LIBRARY, OK, Run, clean_environment, read_ring, records_of
from sidecar import library_names

DEEPBIND, DLMOPEN, UNKNOWN_ENTRY_POINT, RESOLVER_BYPASSED = 1, 2, 3, 4
PLUGIN_12, PLUGIN_13, LOOKUP = (BUILD / f"lib{name}.so" for name in ("plugin_12", "plugin_13", "lookup_plugin"))


@pytest.fixture
def load(record):
    """load(step, ...) runs the program of loads.c; its steps are explained there."""

    def run(*steps, **environment):
        return record(command=[BUILD / "loads", *map(str, steps)], FAKE_CUDA=BUILD / "libfake_cuda.so", **environment)

    return run


def blind(run):
    """(reason, library name) of each blind record."""
    ring = run.ring()
    found = records_of(ring, BLIND)
    assert len(found) == ring["header"]["blind"]
    (file,) = run.folder.glob("*.bin")
    names = library_names(file)
    return sorted((one["code"], names.get(one["library"])) for one in found)


def callers(run):
    """Name of the library behind each allocation that succeeded."""
    (file,) = run.folder.glob("*.bin")
    names = library_names(file)
    return [names.get(one["library"]) for one in records_of(run.ring(), OK)]


def test_libraries_that_reach_the_hooks_are_not_blind(load):
    run = load(f"local:{PLUGIN_12}", f"local:{PLUGIN_13}", f"local:{LOOKUP}", "allocate")
    assert run.done.returncode == 0, run.done.stderr
    assert blind(run) == []
    assert callers(run) == ["libplugin_12.so", "libplugin_13.so", "loads"]


def test_a_library_opened_with_deepbind_is_blind(load):
    run = load("allocate", f"deepbind:{PLUGIN_13}", "allocate")
    assert callers(run) == ["loads", "loads"]
    assert blind(run) == [(DEEPBIND, "libplugin_13.so")]
    assert run.done.stderr == ""


def test_a_library_whose_lookups_alone_pass_by_is_a_bypassed_resolver(load):
    assert blind(load("allocate", f"deepbind:{LOOKUP}")) == [(RESOLVER_BYPASSED, "liblookup_plugin.so")]


def test_a_reference_that_is_not_bound_yet_is_not_judged(load):
    assert blind(load("allocate", f"lazy:{PLUGIN_13}")) == []


def test_a_caller_of_the_runtime_in_another_namespace_is_blind(load):
    run = load("allocate", f"apart:{PLUGIN_12}")
    assert run.done.stdout == "0\n12\n"
    assert blind(run) == [(DLMOPEN, "libplugin_12.so")]


@pytest.mark.parametrize("name", ["libcudart.so.12", "libcuda.so.1"])
def test_a_runtime_or_driver_in_another_namespace_is_blind(load, tmp_path, name):
    shutil.copy(BUILD / "libfake_cudart_12.so", tmp_path / name)
    run = load("allocate", f"apart:{tmp_path / name}", f"apart:{LOOKUP}")
    assert blind(run) == [(DLMOPEN, name)]


def test_the_side_thread_sees_what_is_loaded_while_the_job_goes_on(tmp_path):
    job = subprocess.Popen(
        [BUILD / "loads", "init", "allocate", f"deepbind:{PLUGIN_13}", "wait"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        env=clean_environment(LD_PRELOAD=LIBRARY, MEMSNAP_RING_MB=1, MEMSNAP_TABLE_ENTRIES=4096, FAKE_CUDA=BUILD / "libfake_cuda.so"),
    )
    try:
        give_up = time.monotonic() + 60
        while not [file for file in tmp_path.glob("*.bin") if read_ring(file)["header"]["blind"]]:
            assert job.poll() is None and time.monotonic() < give_up
            time.sleep(0.05)
    finally:
        job.kill()  # so that nothing looks again at its exit
        job.wait()
    assert blind(Run(tmp_path, None)) == [(DEEPBIND, "libplugin_13.so")]


def test_an_entry_point_that_may_take_memory_and_is_unknown_is_blind_once(load):
    run = load("ask:cuMemReserveFuture", "allocate", "ask:cuMemReserveFuture", "ask:cuCtxGetDevice")
    assert run.done.stdout.splitlines() == ["1", "1", "0", "1", "1", "1", "1"]
    assert blind(run) == [(UNKNOWN_ENTRY_POINT, "loads")]


def test_another_tool_that_stands_before_us_is_no_blind_spot(record):
    run = record(command=[BUILD / "loads", f"local:{PLUGIN_13}", "allocate"], preload=f"{BUILD}/libother_tool.so {LIBRARY}")
    assert run.done.stdout.splitlines()[0] == "13"
    assert blind(run) == []
    assert callers(run) == ["libplugin_13.so", "loads"]


def test_a_library_that_comes_to_lie_where_another_was_is_not_taken_for_it(load):
    steps = [f"local:{PLUGIN_12}", "unload", f"local:{PLUGIN_13}", "unload"]
    run = load("allocate", *steps, *steps)
    assert run.done.returncode == 0, run.done.stderr
    lines = run.done.stdout.splitlines()
    assert lines[1::2] == ["12", "13", "12", "13"] and len(set(lines[2::2])) < 4, "no two lay at one address: nothing is shown"
    assert callers(run) == ["loads", "libplugin_12.so", "libplugin_13.so", "libplugin_12.so", "libplugin_13.so"]
    assert blind(run) == []


def test_a_library_loaded_again_and_again_is_one(load):
    run = load("allocate", *[f"again:{PLUGIN_12}"] * 3)
    assert run.done.stdout.split()[1:] == ["12"] * 300
    (ring,) = run.rings()  # the runtime starts anew, too, and gives the same addresses again: no table to check
    assert ring["header"]["library_count"] == 3
    assert {one["library"] for one in records_of(ring, OK)} == {1, 2}
