# SPDX-License-Identifier: Apache-2.0
"""What the driver's calls mean: a program in C a semantic (native/driver_*.c), run against the simulated driver, and what
the recorder wrote of it."""

import collections
import json
import pathlib
import re
import subprocess

import pytest

from conftest import BUILD, NATIVE, REPLAY, TOP
from ring_file import counter

MEBIBYTE = 1 << 20
CARDS = ("--total", "8GiB", "--devices", "2")
NO_BIRTH = "-"
SIMCUDA = BUILD / "tests/simcuda"
PROGRAMS = ["handles", "captured", "pools", "beside_the_card", "contexts", "primary", "unknown", "multicast", "arrays", "graphs",
            "sharing", "refused", "nested", "held", "context_alone"]

Record = collections.namedtuple("Record", "ticket kind device op address size facts flags")


def cuda_headers() -> pathlib.Path:
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    (folders,) = (option["value"] for option in options if option["name"] == "simcuda_headers")
    return next(folder for folder in map(pathlib.Path, folders) if (folder / "cuda.h").exists())


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> pathlib.Path:
    """The folder with the built programs."""
    folder = tmp_path_factory.mktemp("driver")
    for name in PROGRAMS:
        flags = ["-D_GNU_SOURCE", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", "-isystem", cuda_headers()]
        runtime = [f"-L{SIMCUDA}", "-l:libcudart.so.13"] if name == "nested" else []
        subprocess.run(["cc", *flags, "-o", folder / name, NATIVE / f"driver_{name}.c", *runtime], check=True)
    return folder


def dump(ring: pathlib.Path) -> list[Record]:
    done = subprocess.run([REPLAY, "dump", ring], capture_output=True, text=True, check=True)
    records = []
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) < 7 or not words[0].isdigit():
            continue
        facts = dict(word.split("=", 1) for word in words[7:])
        device = None if words[3] == "-" else int(words[3])
        records.append(Record(int(words[0]), words[2], device, words[4], int(words[5], 16), int(words[6]), facts,
                              set(facts.get("flags", "").split(",")) - {""}))
    return records


class Recorded:
    """One recorded run. `live` is what births and deaths leave, told from the records alone."""

    def __init__(self, ring: pathlib.Path):
        self.ring = ring
        self.records = dump(ring)
        self.births = {one.ticket: one for one in self.records if one.kind == "ok"}
        self.live = {}
        for one in self.records:
            birth = one.facts.get("birth", NO_BIRTH)
            if one.kind == "ok" and one.address and "capturing" not in one.flags:
                self.live[one.ticket] = one
            elif one.kind == "free" and birth != NO_BIRTH:
                assert self.live.pop(int(birth)).address == one.address
            elif one.kind == "free_fail" and birth != NO_BIRTH:
                self.live[int(birth)] = self.births[int(birth)]

    def of(self, kind: str, op: str) -> list[Record]:
        return [one for one in self.records if (one.kind, one.op) == (kind, op)]

    def ended_by(self, op: str) -> list[str]:
        """The calls that made what `op` ended, in order."""
        return [self.births[int(one.facts["birth"])].op for one in self.of("free", op) if one.facts["birth"] != NO_BIRTH]

    def live_sizes(self, op: str, device: int | None = 0) -> list[int]:
        return sorted(one.size for one in self.live.values() if (one.op, one.device) == (op, device))


@pytest.fixture
def recorded(bench, programs):
    def run(name: str, *arguments: str, code: int = 0) -> Recorded:
        job = bench.run(programs / name, *arguments, simcuda=CARDS, MEMSNAP_SAMPLE_MS="0", MEMSNAP_KEEP="always", MEMSNAP_QUIET="1")
        assert (job.code, job.stdout, job.stderr) == (code, "", "")
        return Recorded(job.ring)

    return run


def test_memory_of_cuMemCreate_is_followed_by_references_and_mappings_and_a_release_is_no_free(recorded):
    run = recorded("handles")
    created = [one.ticket for one in run.of("ok", "cuMemCreate")]
    (retained,) = run.of("ok", "cuMemRetainAllocationHandle")
    (imported,) = run.of("ok", "cuMemImportFromShareableHandle")
    assert (retained.size, retained.device) == (64 * MEBIBYTE, 0)
    assert imported.flags == {"imported"}
    # One handle, three references with one key: each release ends one of them, whichever.
    assert retained.address == imported.address == run.births[created[0]].address
    released = [int(one.facts["birth"]) for one in run.of("free", "cuMemRelease")]
    assert set(released) == {created[0], retained.ticket, imported.ticket, created[1]}
    assert run.live_sizes("cuMemCreate") == [64 * MEBIBYTE]
    assert [one for one in run.live.values() if one.op in ("cuMemMap", "cuMemAddressReserve")] == []
    (exported,) = run.of("ok", "cuMemExportToShareableHandle")
    assert (exported.address, exported.device) == (retained.address, 0)


def test_an_unmapping_ends_each_mapping_of_its_range_and_a_refused_one_none(recorded):
    run = recorded("handles")
    maps = [str(one.ticket) for one in run.of("ok", "cuMemMap")]
    frees = [one.facts["birth"] for one in run.of("free", "cuMemUnmap")]
    assert [birth for birth in frees if birth != NO_BIRTH] == [maps[0], *maps[1:], *maps[1:]]
    assert [one.facts["birth"] for one in run.of("free_fail", "cuMemUnmap")] == [*maps[1:], NO_BIRTH]


def test_a_captured_call_is_a_node_and_enters_and_ends_nothing(recorded):
    run = recorded("captured")
    allocations = run.of("ok", "cuMemAllocAsync")
    captured = [one for one in allocations if "capturing" in one.flags]
    assert len(captured) == 4 and len(allocations) == 7
    assert all(one.facts["birth"] == NO_BIRTH for one in run.of("free", "cuMemFreeAsync") if "capturing" in one.flags)
    assert len([one for one in run.of("free", "cuMemFreeAsync") if "capturing" in one.flags]) == 2
    assert run.live == {}
    assert counter(run.ring, "unknown_frees") == 0


def test_only_the_captured_stream_is_captured_and_only_until_its_end(recorded):
    run = recorded("captured")
    flags = ["capturing" in one.flags for one in run.of("ok", "cuMemAllocAsync")]
    #        the node, another stream meanwhile, afterwards, the thread's own stream, afterwards, into a graph, and again
    assert flags == [True, False, False, True, False, True, True]


def test_a_pool_keeps_what_was_freed_until_it_is_trimmed(recorded):
    run = recorded("pools")
    made = [one for one in run.of("ok", "cuMemAllocFromPoolAsync") if one.device == 0]
    assert [one.size for one in made] == [48 * MEBIBYTE] * 2
    trims = run.of("ok", "cuMemPoolTrimTo")
    assert [(one.device, one.facts["extra"]) for one in trims] == [(0, hex(trims[0].address))]
    observed = [int(one.facts["free"]) for one in run.of("mem_info", "cuMemGetInfo")]
    assert [before - after for before, after in zip(observed, observed[1:])] == [96 * MEBIBYTE, -48 * MEBIBYTE]
    assert run.ended_by("cuMemFree") == ["cuMemAllocFromPoolAsync"]


def test_memory_from_a_pool_is_on_the_pools_device_whoever_made_the_pool(recorded):
    run = recorded("pools")
    there = [one for one in run.of("ok", "cuMemAllocFromPoolAsync") if one.device != 0]
    assert [one.device for one in there] == [1, 1]  # the program's pool by the _ptsz twin, and the default one
    assert run.live_sizes("cuMemAllocFromPoolAsync", 1) == [48 * MEBIBYTE]
    assert [one.device for one in run.of("ok", "cuDeviceSetMemPool")] == [1, 1]
    assert run.ended_by("cuMemPoolDestroy") == ["cuMemPoolCreate"] * 2
    assert counter(run.ring, "device_unknown") == 0


def test_managed_and_page_locked_memory_are_ledgers_of_their_own(recorded):
    run = recorded("beside_the_card")
    assert run.live_sizes("cuMemAllocManaged") == [40 * MEBIBYTE]
    assert run.live_sizes("cuMemHostAlloc", None) == [16 * MEBIBYTE]
    assert run.live_sizes("cuMemAllocHost", None) == []
    assert run.live_sizes("cuMemHostRegister", None) == [4096]
    observed = {one.facts["free"] for one in run.of("mem_info", "cuMemGetInfo")}
    assert len(observed) == 1


@pytest.mark.card_changes
def test_the_end_of_a_context_ends_what_was_made_in_it_and_nothing_else(recorded):
    run = recorded("contexts")
    elsewhere, first, second, last = 0, 1, 2, 3
    ended = run.of("free", "cuCtxDestroy")
    calls = [[]]
    for one in ended:
        calls[-1].append(run.births[int(one.facts["birth"])].op if one.facts["birth"] != NO_BIRTH else None)
        if calls[-1][-1] in ("cuCtxCreate", None):  # its own entry is the last one
            calls.append([])
    assert calls.pop() == []
    assert calls[elsewhere] == ["cuMemAlloc", "cuCtxCreate"]
    assert calls.pop(1) == [None]  # destroyed twice: passed on
    assert sorted(calls[first][:-1]) == ["cuArrayCreate", "cuImportExternalMemory", "cuMemAlloc", "cuMemAllocManaged", "cuMemHostAlloc"]
    assert calls[second] == ["cuMemAlloc", "cuCtxCreate"]
    assert calls[last] == ["cuCtxCreate"]
    assert [one.device for one in ended if one.facts["birth"] != NO_BIRTH][:2] == [1, 1]
    assert run.live_sizes("cuMemAlloc") == run.live_sizes("cuMemAllocAsync") == run.live_sizes("cuMemCreate") == [10 * MEBIBYTE]


@pytest.mark.card_changes
def test_a_refused_end_of_a_context_is_told_and_an_unknown_context_is_counted(recorded):
    run = recorded("contexts")
    (refused,) = run.of("free_fail", "cuCtxDestroy")
    assert (refused.facts["birth"], refused.facts["code"]) == (NO_BIRTH, "201")
    assert counter(run.ring, "unknown_frees") == 1


TAKEN = ["cuMemAlloc", "cuMemHostAlloc"]


@pytest.mark.card_changes
def test_the_primary_context_ends_with_its_last_reference(recorded):
    run = recorded("primary")
    released = run.ended_by("cuDevicePrimaryCtxRelease")
    # The first release ends one of two references (the other is older than the ring), the second what was made there; the
    # refused third nothing, and that of a device whose green context goes on ends a reference again.
    assert released[0] == "cuDevicePrimaryCtxRetain"
    assert sorted(released[1:3]) == TAKEN
    assert released[3:] == ["cuDevicePrimaryCtxRetain"]
    assert {one.op for one in run.live.values()} == {"cuMemAllocAsync"}  # of the device's pool: no context's


def test_a_primary_context_alone_makes_no_ring(bench, programs):
    job = bench.run(programs / "context_alone", simcuda=CARDS)
    assert (job.code, job.rings) == (0, [])


@pytest.mark.card_changes
def test_a_reset_ends_what_was_made_in_the_primary_context_and_no_pools_memory(recorded):
    run = recorded("primary")
    ended = run.ended_by("cuDevicePrimaryCtxReset")
    assert sorted(ended[:2]) == sorted(ended[3:5]) == TAKEN
    assert ended[2] == ended[5] == "cuDevicePrimaryCtxRetain" and len(ended) == 6


@pytest.mark.card_changes
def test_a_green_context_holds_a_reference_to_the_primary_one(recorded):
    run = recorded("primary")
    ended = run.ended_by("cuGreenCtxDestroy")
    assert sorted(ended[:2]) == TAKEN and ended[2:] == ["cuGreenCtxCreate"]


def test_frees_of_what_was_never_seen_are_passed_on_and_counted(recorded):
    run = recorded("unknown")
    unknown = [one for one in run.records if one.kind == "free" and one.facts["birth"] == NO_BIRTH]
    assert [(one.op, one.address) for one in unknown] == [("cuMemFree", 0xDEAD000), ("cuMemFreeAsync", 0xDEAD000), ("cuMemRelease", 0xDEAD)]
    assert counter(run.ring, "unknown_frees") == 3


def test_results_at_exit_are_no_failures(recorded):
    run = recorded("unknown")
    (refused,) = [one for one in run.of("free_fail", "cuMemFree") if one.facts["birth"] != NO_BIRTH]
    (failed,) = run.of("fail", "cuMemAlloc")
    assert refused.facts["code"] == failed.facts["code"] == "4"
    assert [one for one in run.records if one.kind in ("operation", "keyframe")] == []
    assert run.live_sizes("cuMemAlloc") == [MEBIBYTE]


@pytest.mark.parametrize(
    "request_name", ["cuMemAlloc", "cuMemAllocPitch", "cuMemCreate", "cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuArray3DCreate"]
)
def test_a_refused_request_of_a_library_is_a_failure(recorded, request_name):
    run = recorded("refused", request_name, code=3)
    (operation,) = [one for one in run.records if one.kind == "operation"]
    (failed,) = run.of("fail", request_name)
    assert (operation.op, operation.device, operation.size) == (request_name, 0, 64 << 30)
    assert (failed.facts["code"], failed.size) == ("2", 64 << 30)
    assert len([one for one in run.records if one.kind == "keyframe"]) == 1


def test_a_multicast_object_is_no_memory_and_its_handle_is_released_as_memorys(recorded):
    run = recorded("multicast")
    (multicast,) = run.of("ok", "cuMulticastCreate")
    (memory,) = run.of("ok", "cuMemCreate")
    assert (multicast.size, multicast.device, memory.device) == (40 * MEBIBYTE, None, 0)
    (by_handle,) = run.of("ok", "cuMulticastBindMem")
    (by_address,) = run.of("ok", "cuMulticastBindAddr")
    assert (by_handle.address, by_handle.facts["extra"], by_handle.device) == (multicast.address, hex(memory.address), 0)
    assert (by_address.address, by_address.device) == (multicast.address, 0)
    assert [(one.device, one.size) for one in run.of("ok", "cuMulticastUnbind")] == [(0, 20 * MEBIBYTE)] * 2
    assert run.ended_by("cuMemRelease") == ["cuMulticastCreate", "cuMemCreate"]
    assert run.ended_by("cuMemUnmap") == ["cuMemMap"] * 2


def test_the_sizes_of_arrays_follow_from_their_shapes(recorded):
    run = recorded("arrays")
    assert [one.size for one in run.of("ok", "cuArrayCreate")] == [1000 * 1000 * 2 * 4]
    assert [one.size for one in run.of("ok", "cuArray3DCreate")] == [64**3]
    assert [one.size for one in run.of("ok", "cuMipmappedArrayCreate")] == [(64 * 32 + 32 * 16 + 16 * 8) * 4 * 2]
    assert [one.size for one in run.of("ok", "cuMemAllocPitch")] == [7 * 1024]
    assert [one.size for one in run.of("fail", "cuArray3DCreate")] == [0]  # planar: no size of a channel
    assert run.ended_by("cuArrayDestroy") == ["cuArray3DCreate"]
    assert run.ended_by("cuMipmappedArrayDestroy") == ["cuMipmappedArrayCreate", "cuExternalMemoryGetMappedMipmappedArray"]


def test_what_the_driver_refuses_as_unsupported_is_told_as_refused(recorded):
    run = recorded("arrays")
    assert [one.facts["code"] for one in run.of("fail", "cuMemMapArrayAsync")] == ["801"] * 2


def test_memory_of_another_api_is_imported(recorded):
    run = recorded("arrays")
    (memory,) = run.of("ok", "cuImportExternalMemory")
    (buffer,) = run.of("ok", "cuExternalMemoryGetMappedBuffer")
    (array,) = run.of("ok", "cuExternalMemoryGetMappedMipmappedArray")
    assert all(one.flags == {"imported"} for one in (memory, buffer, array))
    assert (memory.size, buffer.size, buffer.facts["extra"]) == (MEBIBYTE, 4096, hex(memory.address))
    assert run.ended_by("cuMemFree") == ["cuExternalMemoryGetMappedBuffer"]
    assert run.ended_by("cuDestroyExternalMemory") == ["cuImportExternalMemory"]


def test_allocation_nodes_are_entered_as_nodes_and_other_nodes_not_at_all(recorded):
    run = recorded("graphs")
    assert [(one.size, one.device) for one in run.of("ok", "cuGraphAddMemAllocNode")] == [(6 * MEBIBYTE, 0), (12 * MEBIBYTE, 0), (6 * MEBIBYTE, 0)]
    assert run.ended_by("cuGraphAddMemFreeNode") == ["cuGraphAddMemAllocNode"] * 2
    assert [one.size for one in run.live.values() if one.op == "cuGraphAddMemAllocNode"] == [6 * MEBIBYTE]
    assert [one.device for one in run.of("ok", "cuDeviceGraphMemTrim")] == [0]


def test_memory_of_another_process_is_the_exporters(bench, programs):
    job = bench.run(programs / "sharing", simcuda=CARDS, MEMSNAP_SAMPLE_MS="0", MEMSNAP_KEEP="always")
    assert (job.code, job.stderr) == (0, "")
    opener, exporter = sorted(map(Recorded, job.rings), key=lambda run: len(run.of("ok", "cuMemAlloc")))
    for op in ("cuMemAlloc", "cuMemAllocFromPoolAsync", "cuMemCreate"):
        assert exporter.live_sizes(op) == [14 * MEBIBYTE]
    (given,) = exporter.of("ok", "cuIpcGetMemHandle")
    assert given.address == exporter.of("ok", "cuMemAlloc")[0].address
    assert len(exporter.of("ok", "cuMemPoolExportToShareableHandle")) == len(exporter.of("ok", "cuMemPoolExportPointer")) == 1

    imports = [one for one in opener.births.values() if one.op != "cuDevicePrimaryCtxRetain"]
    assert {one.op for one in imports} == {"cuIpcOpenMemHandle", "cuMemPoolImportFromShareableHandle", "cuMemPoolImportPointer",
                                           "cuMemImportFromShareableHandle"}
    assert all(one.flags == {"imported"} for one in imports)
    # Opened twice at one address, closed once: one reference stays.
    assert len({one.address for one in opener.of("ok", "cuIpcOpenMemHandle")}) == 1
    assert len(opener.of("ok", "cuIpcOpenMemHandle")) == 2
    kept = [one.op for one in opener.live.values() if one.op != "cuDevicePrimaryCtxRetain"]
    assert kept == ["cuIpcOpenMemHandle", "cuMemPoolImportFromShareableHandle"]
    assert opener.ended_by("cuMemFreeAsync") == opener.ended_by("cuMemFree") == ["cuMemPoolImportPointer"]


@pytest.mark.card_changes
def test_a_call_of_the_runtime_and_the_drivers_calls_inside_it_are_one_fact(recorded):
    run = recorded("nested", SIMCUDA / "libsimplugin.so")
    made = [(one.op, one.size) for one in run.births.values() if one.size]
    assert made == [
        ("cudaMalloc", 3 * MEBIBYTE), ("cudaMallocAsync", 4 * MEBIBYTE), ("cudaHostAlloc", 4096),
        ("cuMemAlloc", 5 * MEBIBYTE), ("cuMemAllocAsync", 6 * MEBIBYTE), ("cuMemHostAlloc", 8192),
    ]
    callers = [one.facts["library"] for one in run.births.values() if one.size]
    assert callers == [callers[0]] * 3 + [callers[-1]] * 3 and callers[0] != callers[-1]


@pytest.mark.card_changes
def test_a_reset_by_the_runtime_ends_what_every_library_made_on_the_device(recorded):
    run = recorded("nested", SIMCUDA / "libsimplugin.so")
    ended = [birth for birth in run.ended_by("cudaDeviceReset") if birth != "cuDevicePrimaryCtxRetain"]
    assert sorted(ended) == ["cuMemAlloc", "cuMemHostAlloc", "cudaHostAlloc", "cudaMalloc"]
    assert run.of("free", "cuDevicePrimaryCtxReset") == []
    assert sorted(one.op for one in run.live.values()) == ["cuMemAllocAsync", "cudaMallocAsync"]


def test_without_a_current_context_the_drivers_reset_is_the_fact(recorded):
    run = recorded("nested", SIMCUDA / "libsimplugin.so", "no context")
    ended = [birth for birth in run.ended_by("cuDevicePrimaryCtxReset") if birth != "cuDevicePrimaryCtxRetain"]
    assert sorted(ended) == ["cuMemAlloc", "cuMemHostAlloc", "cudaHostAlloc", "cudaMalloc"]
    assert run.of("free", "cudaDeviceReset") == []


def holders_at_the_failure(bench, ring) -> dict:
    replayed = bench.replay(ring, receipt=True)
    (holders,) = [one for one in replayed.receipt["evidence"]["holders"] if one["instant"] == "failure"]
    return holders


def test_at_a_failure_the_bytes_beside_the_card_and_those_of_libraries_stand_apart(bench, programs):
    """The program makes one of each kind and then asks for too much."""
    job = bench.run(programs / "held", simcuda=CARDS, MEMSNAP_SAMPLE_MS="0", MEMSNAP_QUIET="1")
    assert (job.code, job.stderr) == (3, "")
    holders = holders_at_the_failure(bench, job.ring)
    #                                    cuMemAlloc  array  created, released and still mapped   from the pool
    assert [one["bytes"] for one in holders["libraries"]] == [(10 + 16 + 20 + 6) * MEBIBYTE]
    assert (holders["managed_bytes"], holders["pinned_bytes"]) == (40 * MEBIBYTE, 24 * MEBIBYTE)
    assert (holders["imported_bytes"], holders["imported_count"]) == (MEBIBYTE, 1)
    assert holders["graph_bytes"] == 8 * MEBIBYTE
    assert holders["free_bytes"] + holders["unattributed_bytes"] + holders["libraries"][0]["bytes"] == holders["total_bytes"] == 8 << 30
    assert holders["unattributed_bytes"] == 300 * MEBIBYTE  # the context


# ---- every entry point

# Names that tell of memory and have no row, with the reason.
WITHOUT_A_ROW = {
    "32-bit addresses and sizes, which no 64-bit process has": {
        "cuMemAlloc", "cuMemAllocPitch", "cuMemFree", "cuMemAllocHost", "cuMemGetInfo", "cuArrayCreate", "cuArray3DCreate",
    },
    "asks, and takes nothing": {
        "cuMemGetAllocationGranularity", "cuMemGetAllocationPropertiesFromHandle", "cuMulticastGetGranularity", "cuMemPoolGetAttribute",
        "cuMemPoolGetAccess", "cuMemGetAccess", "cuArrayGetMemoryRequirements", "cuMipmappedArrayGetMemoryRequirements",
        "cuMemGetHandleForAddressRange",
        "cuGraphMemAllocNodeGetParams", "cuGraphMemFreeNodeGetParams", "cuDevicePrimaryCtxGetState",
    },
    "changes who may touch memory, or a flag, not who holds it": {
        "cuMemSetAccess", "cuMemPoolSetAccess", "cuMulticastAddDevice", "cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2",
        "cuDeviceSetGraphMemAttribute",
    },
    "counts uses of a context, deprecated": {"cuCtxAttach", "cuCtxDetach"},
    "synchronisation and streams, no memory": {
        "cuIpcGetEventHandle", "cuIpcOpenEventHandle", "cuImportExternalSemaphore", "cuDestroyExternalSemaphore",
        "cuGreenCtxStreamCreate",
    },
}
TELLS_OF_MEMORY = re.compile(
    r"cu(Mem(?!cpy|set)\w*(Alloc|Free|Create|Release|Map|Unmap|Reserve|Import|Export|Retain|Register|Unregister|Pool|Access|GetInfo|HandleFor)"
    r"|(Array|Array3D|MipmappedArray)(Create|Destroy|GetMemory)|Ipc(Get|Open|Close)|(Import|Destroy)External|ExternalMemory|Multicast"
    r"|GraphAddMem(Alloc|Free)|GraphMem(Alloc|Free)|GraphAddNode|DeviceGraphMem|DeviceSetGraphMem|Device(Get|Set)\w*MemPool"
    r"|Ctx(Create|Destroy|Attach|Detach)|DevicePrimaryCtx"
    r"|GreenCtx(Create|Destroy|StreamCreate)|Stream(Begin|End)Capture)\w*"
)


def exported_names() -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", SIMCUDA / "libcuda.so.1"], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines()}


def wrapped_names() -> set[str]:
    text = (TOP / "interpose/driver_entries.h").read_text()
    (listed,) = re.findall(r"#define MEMSNAP_DRIVER_ENTRIES\(X\)(.*?)// clang-format on", text, re.DOTALL)
    return set(re.findall(r"X\((\w+)\)", listed))


def test_every_name_of_the_driver_that_tells_of_memory_has_a_row_or_a_reason():
    telling = {name for name in exported_names() if TELLS_OF_MEMORY.fullmatch(name)}
    excused = set().union(*WITHOUT_A_ROW.values())
    assert telling - wrapped_names() - excused == set()
    assert excused & wrapped_names() == set()
    assert excused - telling == set()


def test_every_row_is_an_export_of_the_driver_and_is_called_by_a_program():
    called = {name for path in NATIVE.glob("driver*") for name in re.findall(r"DRIVER\((\w+)\)", path.read_text())}
    started = {"cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2"}  # by every runtime; tests/recorder
    assert wrapped_names() - exported_names() == set()
    assert wrapped_names() - called - started == set()
