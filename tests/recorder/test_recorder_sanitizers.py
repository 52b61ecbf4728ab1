# SPDX-License-Identifier: Apache-2.0
"""The recorder under ThreadSanitizer, AddressSanitizer and UndefinedBehaviorSanitizer."""

import pathlib
import re
import subprocess
import sys

import pytest

from recorded import BLIND, BLOCK_ALLOC, BUILD, clean_environment, kinds, read_ring

SCENARIOS = [["simple"], ["family"], ["oom"], ["foreign_oom"], ["storm", 5], ["churn", 60000], ["fork"], ["exit", 3],
             ["driver"], ["contexts", 70], ["two_runtimes"], ["sampled", 100]]
FAKES = {"FAKE_CUDA": BUILD / "libfake_cuda.so", "PLUGIN_12": BUILD / "libplugin_12.so", "PLUGIN_13": BUILD / "libplugin_13.so"}
LIMITS = {"MEMSNAP_SAMPLE_MS": 10, "MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_QUIET": 1, "ASAN_OPTIONS": "detect_leaks=0"}


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda arguments: arguments[0])
def test_no_sanitizer_has_anything_to_say(tmp_path, sanitizer, scenario):
    (tmp_path / "libnvidia-ml.so.1").symlink_to(BUILD / "libfake_nvml_3.so")
    done = subprocess.run(
        [BUILD / f"program_{sanitizer}", *map(str, scenario)],
        cwd=tmp_path,
        env=clean_environment(LD_LIBRARY_PATH=tmp_path, **FAKES, **LIMITS),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.returncode == (3 if scenario[0] == "exit" else 0)
    files = list(tmp_path.glob("*.bin"))
    assert files
    assert [read_ring(file)["violations"] for file in files] == [[]] * len(files)


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_no_sanitizer_has_anything_to_say_of_marks(tmp_path, sanitizer):
    commands = ["note batch 1", "begin 3 early", "@2 push early", "cap 0 1 2", "alloc", "race 300", "@2 alloc", "@2 pop", "end", "step", "fork", "alloc", "step", "join"]
    done = subprocess.run(
        [BUILD / f"marks_{sanitizer}", *commands],
        cwd=tmp_path,
        env=clean_environment(MEMSNAP_NVTX=1, MEMSNAP_BOUNDARY_ENTRIES=64, **LIMITS, MEMSNAP_STACK="off"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    files = list(tmp_path.glob("*.bin"))
    assert [read_ring(file)["violations"] for file in files] == [[], []]


def test_with_the_address_sanitizer_it_can_be_preloaded_into_python(tmp_path):
    library = BUILD / "libmemsnap_address.so"
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    sanitizer = re.search(r"=> (\S*libasan\S*)", needed).group(1)
    script = f"""
import ctypes
lib = ctypes.CDLL({str(BUILD / "libc10_cuda.so")!r})
lib.fake_report(ctypes.c_void_p(4096), ctypes.c_int64(512), ctypes.c_size_t(512), ctypes.c_size_t(512), 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=clean_environment(LD_PRELOAD=f"{sanitizer} {library}", **LIMITS),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = tmp_path.glob("*.bin")
    # This build leaves dlsym to the sanitizer, and says so of each library that imports it.
    assert [kind for kind in kinds(read_ring(file)) if kind != BLIND] == [BLOCK_ALLOC]
