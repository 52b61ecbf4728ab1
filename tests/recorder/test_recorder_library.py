# SPDX-License-Identifier: Apache-2.0
"""The library as the dynamic linker sees it: what it needs, what it exports, and whom it must not deceive."""

import ctypes
import os
import re
import subprocess
import sys

from recorded import BUILD, LIBRARY

FLOOR = (2, 28)
RUNTIME_VERSIONS = {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"}


def output(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def glibc_versions(library):
    return {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", output("objdump", "-T", library))}


def dynamic_symbols():
    """(name, version, defined) of every dynamic symbol."""
    for line in output("readelf", "-W", "--dyn-syms", LIBRARY).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            name, _, version = fields[7].partition("@")
            yield name, version, fields[6] != "UND"


def test_it_needs_nothing_but_the_c_library():
    needed = re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", LIBRARY))
    assert set(needed) <= {"libc.so.6"} | {name for name in needed if "san" in name}


def test_it_loads_on_the_oldest_c_library_we_promise():
    assert max(glibc_versions(LIBRARY)) <= FLOOR
    # The check itself can fail: a program linked here asks for more.
    assert max(glibc_versions(BUILD / "program")) > FLOOR


def test_it_exports_dlsym_dlclose_the_reports_the_plain_functions_and_versioned_runtime_names_only():
    exported = [(name, version) for name, version, defined in dynamic_symbols() if defined]
    plain = {name for name, version in exported if not version}
    assert plain - RUNTIME_VERSIONS - {"memsnap_none"} == {
        "dlsym",
        "dlclose",
        "InitializeInjection",
        "InitializeInjectionNvtx2",
        *(f"memsnap1_{name}" for name in ["version", "recording", "begin", "end", "step", "mark", "note", "category", "cap", "tap", "tap_may_repeat", "tap_state"]),
        *(f"memsnap1_{name}" for name in ["attach", "detach", "initial_begin", "initial", "initial_end"]),
        "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
        "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
        "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
        "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE",
    }
    runtime = {(name, version) for name, version in exported if name.startswith("cuda")}
    names = {name for name, _ in runtime}
    assert {"cudaMalloc", "cudaFree", "cudaMallocAsync_ptsz", "cudaMemGetInfo"} <= names
    assert runtime == {(name, version) for name in names for version in RUNTIME_VERSIONS}


def test_thread_local_storage_is_one_word():
    (segment,) = re.findall(r"^\s+TLS\s+\S+ \S+ \S+ \S+ (0x\w+)", output("readelf", "-lW", LIBRARY), re.M)
    assert int(segment, 16) <= 8


def test_pass_through_functions_jump_to_their_originals():
    # A call instead of a jump would make dlsym(RTLD_NEXT) start after us instead of after our caller.
    for name in ["dlsym", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"]:
        code = output("objdump", "-d", f"--disassemble={name}", LIBRARY)
        assert re.search(r"jmp\s+\*%r|\bbr\s+x\d", code), name
        assert not re.search(r"call\s+\*%r|\bblr\s+x\d", code), name


def test_unwind_tables_exist():
    assert ".eh_frame" in output("readelf", "-SW", LIBRARY)


def test_a_machine_without_cuda_does_not_look_as_if_it_had_it(record):
    script = "import ctypes; print(hasattr(ctypes.CDLL(None), 'cudaMalloc'), hasattr(ctypes.CDLL(None), 'cuInit'))"
    assert record(command=[sys.executable, "-c", script]).done.stdout == "False False\n"
    assert hasattr(ctypes.CDLL(None), "malloc")


def test_a_weak_reference_to_the_runtime_stays_unresolved(record):
    assert record(command=[BUILD / "weak_reference"]).done.stdout == "absent\n"


def test_lookups_by_pseudo_handle_mean_their_callers_scope(record):
    run = record("lookups", LOOKUP_PLUGIN=BUILD / "liblookup_plugin.so")
    assert run.done.stdout.splitlines() == [
        "default cudaMalloc 1",  # the fake runtime's own, which the program is linked with
        "next malloc 1",
        "next in main 1",
        "dlerror 1",
        "plugin 1",
        "done 0 0",
    ]
