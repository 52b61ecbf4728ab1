# SPDX-License-Identifier: Apache-2.0
"""The real libraries of the wheel carry a runtime of their own: each is counted by the driver entry points that it got as the recorder's."""

import pathlib
import subprocess
import sysconfig

import pytest

from conftest import BUILD, NATIVE
from ring_file import KIND, counter, libraries, records

SITE = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia"
# How many pointers each asks for is the library's business; whether it asks the driver's resolver or dlsym as well.
ASKING = {
    "libcublas.so.13": ("cu13/lib/libcublas.so.13", "cublasCreate_v2"),
    "libcublasLt.so.13": ("cu13/lib/libcublasLt.so.13", "cublasLtCreate"),
    "libcufft.so.12": ("cu13/lib/libcufft.so.12", "cufftPlan1d", "1024", "41", "1"),
    "libnccl.so.2": ("nccl/lib/libnccl.so.2", "ncclCommInitAll", "1"),
}


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    folder, runtime = tmp_path_factory.mktemp("asking"), BUILD / "tests/simcuda"
    flags = ["-D_GNU_SOURCE", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", folder / "ask_driver", NATIVE / "ask_driver.c", f"-L{runtime}", "-l:libcudart.so.13"], check=True)
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", folder / "libother_hook.so", NATIVE / "other_hook.c"], check=True)
    return folder


def ask(bench, asking, library, **environment):
    path, *call = ASKING[library]
    job = bench.run(asking / "ask_driver", SITE / path, *call, MEMSNAP_SAMPLE_MS="0", **environment)
    assert job.code == 0, job.stderr
    return job


def recorded(job):
    """Entry points by library, where there are any."""
    return {one.name: one.entry_point_count for one in libraries(job.ring) if one.entry_point_count}


@pytest.mark.parametrize("library", ASKING)
def test_a_library_with_a_runtime_of_its_own_gets_our_entry_points_and_each_is_counted(bench, asking, library):
    seen = ask(bench, asking, library, LD_PRELOAD=str(asking / "libother_hook.so"), COUNT_WITHIN="libmemsnap.so")
    handed_out = {name: int(count) for name, count in (line.split() for line in seen.stdout.splitlines())}
    assert handed_out[library] > 0
    seen.ring.unlink()

    first = ask(bench, asking, library)
    assert recorded(first) == handed_out
    assert counter(first.ring, "blind") == 0
    first.ring.unlink()

    assert recorded(ask(bench, asking, library)) == handed_out


def test_libraries_that_ask_but_never_call_are_listed_with_the_first_event(bench, asking):
    job = ask(bench, asking, "libcufft.so.12")
    assert "ask_driver" in [one.name for one in libraries(job.ring)]
    called = {libraries(job.ring)[index].name for index in set(records(job.ring)["library"][records(job.ring)["kind"] == KIND["ok"]])}
    assert called and called < set(recorded(job)) | {"ask_driver"}
