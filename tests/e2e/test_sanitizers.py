# SPDX-License-Identifier: Apache-2.0
"""The recorder built with AddressSanitizer and UndefinedBehaviorSanitizer, preloaded into Python, under real PyTorch jobs.

It is the library of tests/recorder, without the hook of dlsym, which the sanitizer's runtime itself calls too early to run instrumented code.
"""

import pathlib
import subprocess
import sysconfig

import pytest

from conftest import BUILD

# The sanitizer's dlopen is not called from PyTorch's libraries, so their own search paths do not count.
LIBRARIES = ":".join(map(str, pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/*/lib")))
RECORDER = BUILD / "tests/recorder/libmemsnap_address.so"


@pytest.fixture(scope="module")
def preload() -> str:
    """The sanitizer's runtime must come first."""
    runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout.strip()
    return f"{pathlib.Path(runtime).resolve()}:{RECORDER}"


@pytest.mark.parametrize("program", [("no_failure.py",), ("cases.py", "survived"), ("laps.py", "fragmentation")], ids=" ".join)
def test_no_sanitizer_complains_about_a_recorded_job(bench, preload, program):
    """Leaks at exit are Python's own and are not looked at; any report ends the job with code 97."""
    job = bench.run(
        *program, record=False, LD_PRELOAD=preload, MEMSNAP_RING_MB="1", MEMSNAP_QUIET="1", LD_LIBRARY_PATH=LIBRARIES,
        ASAN_OPTIONS="detect_leaks=0:exitcode=97:protect_shadow_gap=0", UBSAN_OPTIONS="exitcode=97:print_stacktrace=1",
    )

    assert (job.code, job.stderr) == (0, "")
    assert bench.replay("check", job.ring).code == 0


def test_the_library_under_test_is_instrumented():
    symbols = subprocess.run(["nm", "-D", RECORDER], capture_output=True, text=True, check=True).stdout
    assert "__asan_" in symbols and "__ubsan_" in symbols
