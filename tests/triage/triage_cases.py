# SPDX-License-Identifier: Apache-2.0
"""Messages in our own wording of numbers, with what they must come to, computed by hand. T is the card, F device-free, V reserved, A allocated, S = V - A,
R the request, X = T - F - V outside, tau 1.5 % of T, M = F + S - R the margin, E what outside holders could give back (beyond 1.5 GiB where nobody is named).
The sums are in each case's `why`."""

import dataclasses

HINT = " If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
NEWER_HINT = HINT.replace("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
OLDER_HINT = " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    text: str
    format: str
    kind: str
    why: str
    missing: tuple[str, ...] | None = None
    qualifiers: tuple[str, ...] = ()  # at least these
    device: int | None = 0
    exit_status: int = 10


def sentences(asked, total, free, allocated, unallocated, processes="", between="", pools="", device="0", hint=HINT, backend="CUDA", typo=False):
    capacity = "capacty" if typo else "capacity"
    return (
        f"torch.OutOfMemoryError: {backend} out of memory. Tried to allocate {asked}. GPU {device} has a total {capacity} of {total} of which {free} is free. "
        f"{processes}{between}Of the allocated memory {allocated} is allocated by PyTorch, {pools}and {unallocated} is reserved by PyTorch but unallocated.{hint}"
    )


def brackets(asked, total, allocated, free, reserved, device="0", hint="", between="", last="reserved in total by PyTorch"):
    return (
        f"RuntimeError: CUDA out of memory. Tried to allocate {asked} (GPU {device}; {total} total capacity; {allocated} already allocated; {free} free; "
        f"{between}{reserved} {last}){hint}"
    )


def own(bytes_in_use):
    return f"Including non-PyTorch memory, this process has {bytes_in_use} memory in use. "


def process(pid, bytes_in_use):
    return f"Process {pid} has {bytes_in_use} memory in use. "


CASES = [
    # PyTorch 2.1 and later
    Case("the live set", sentences("4.00 GiB", "80.00 GiB", "1.00 GiB", "77.00 GiB", "1.00 GiB", own("79.00 GiB")), "F5", "live_set",
         "M = 1 + 1 - 4 = -2; X = 80 - 1 - 78 = 1 is the own context: E = 0", missing=("steps",)),
    Case("nothing unallocated", sentences("4.00 GiB", "80.00 GiB", "1.00 GiB", "78.00 GiB", "0 bytes", own("79.00 GiB")), "F5", "live_set",
         "M = 1 - 4 = -3", missing=("steps",)),
    Case("fragmentation, unless frees wait", sentences("2.00 GiB", "80.00 GiB", "512.00 MiB", "60.00 GiB", "18.00 GiB", own("79.50 GiB")), "F5",
         "fragmentation_or_deferred_free", "M = 0.5 + 18 - 2 = 16.5 >= 1.2; with all 18 waiting M = -1.5", missing=("active", "steps"), exit_status=11,
         qualifiers=("deferred_free_not_excluded",)),
    Case("a stranger", sentences("2.00 GiB", "80.00 GiB", "512.00 MiB", "38.00 GiB", "512.00 MiB", process(41, "40.00 GiB") + own("39.50 GiB")), "F5", "external",
         "M = 0.5 + 0.5 - 2 = -1, deficit 2.2; E = 40"),
    Case("the own process listed as a stranger", sentences("2.00 GiB", "80.00 GiB", "512.00 MiB", "58.00 GiB", "512.00 MiB", process(9, "20.00 GiB") + process(7, "59.10 GiB")), "F5",
         "external", "V = 58.5: 59.1 is the own one, others 20; M = -1"),
    Case("two that may be the own one", sentences("2.00 GiB", "80.00 GiB", "512.00 MiB", "38.00 GiB", "512.00 MiB", process(9, "40.00 GiB") + process(7, "39.20 GiB")), "F5",
         "external", "V = 38.5: either way others hold 39.2 or more"),
    Case("only the own process, listed as a stranger", sentences("2.00 GiB", "24.00 GiB", "128.00 MiB", "22.90 GiB", "100.00 MiB", process(3, "23.80 GiB")), "F5", "live_set",
         "V = 23.0; M = 0.22 - 2; no others, X = 0.88 is below the allowance"),
    Case("larger than the card", sentences("100.00 GiB", "80.00 GiB", "40.00 GiB", "30.00 GiB", "5.00 GiB", process(5, "4.00 GiB") + own("36.00 GiB")), "F5", "live_set",
         "R = 100 > T", qualifiers=("larger_than_card",)),
    Case("the driver refused", sentences("2.00 GiB", "80.00 GiB", "50.00 GiB", "20.00 GiB", "1.00 GiB"), "F5b", "driver_refused",
         "F - N = 48 >= 1.2, and this version prints a limit that is set"),
    Case("a limit in silence", sentences("2.00 GiB", "80.00 GiB", "50.00 GiB", "20.00 GiB", "1.00 GiB", typo=True), "F4", "live_set",
         "a limit between V = 21 and V + N: M is from 1 - 2 to 1, below 1.2", qualifiers=("cap", "cap_or_driver_refused")),
    Case("the device a control character", sentences("2.00 GiB", "80.00 GiB", "50.00 GiB", "20.00 GiB", "1.00 GiB", device="\x00"), "F5b", "live_set",
         "2.2 does not print a limit either", qualifiers=("cap", "cap_or_driver_refused"), device=None),
    Case("a limit", sentences("3.00 GiB", "80.00 GiB", "50.00 GiB", "22.00 GiB", "1.50 GiB", own("24.00 GiB"), between="24.00 GiB allowed; "), "F5", "live_set",
         "K = 24: M = 24 - 22 - 3 = -1; what others hold does not matter", qualifiers=("cap",)),
    Case("fragmentation below a limit", sentences("1.00 GiB", "80.00 GiB", "30.00 GiB", "20.00 GiB", "19.50 GiB", own("40.00 GiB"), between="40.00 GiB allowed; "), "F5",
         "fragmentation_or_deferred_free", "K = 40: M = 40 - 20 - 1 = 19", qualifiers=("cap",), exit_status=11),
    Case("private pools are free blocks", sentences("4.00 GiB", "40.00 GiB", "512.00 MiB", "30.00 GiB", "2.00 GiB", own("33.00 GiB"), pools="with 5.00 GiB allocated in private pools (e.g., CUDA Graphs), "),
         "F6", "fragmentation_or_deferred_free", "A = 30 - 5, V = 32: M = 0.5 + 7 - 4 = 3.5 >= 0.6", exit_status=11),
    Case("the newer name of the setting", sentences("4.00 GiB", "80.00 GiB", "1.00 GiB", "77.00 GiB", "1.00 GiB", own("79.00 GiB"), hint=NEWER_HINT), "F6b", "live_set", "M = -2"),
    Case("HIP graphs", sentences("4.00 GiB", "192.00 GiB", "1.00 GiB", "189.00 GiB", "1.00 GiB", pools="with 512.00 MiB allocated in private pools (e.g., HIP Graphs), ", backend="HIP", device="3"),
         "F6", "live_set", "V = 190, X = 1, A = 188.5: M = 1 + 1.5 - 4 = -1.5", device=3),
    Case("XPU without device-free", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 6.00 GiB. GPU 1 has a total capacity of 16.00 GiB. Of the allocated memory 12.00 GiB is allocated by PyTorch, "
         "and 1.00 GiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.", "F5b", "live_set",
         "F lies in [0, 3]: M = F + 1 - 6 < 0 always, and at F = 0 outside holders could give back 1.5 of the 5.24 that are lacking", device=1),
    Case("a limit on a full card", sentences("512.00 MiB", "80.00 GiB", "600.00 MiB", "78.90 GiB", "0 bytes", between="79.00 GiB allowed; "), "F5b", "live_set",
         "K = 79: M = 79 - 78.9 - 0.5 = -0.4"),
    Case("room below the threshold", sentences("512.00 MiB", "80.00 GiB", "1.00 GiB", "78.00 GiB", "0 bytes", between="79.10 GiB allowed; "), "F5b", "live_set",
         "K = 79.0 of F + V: M = 79 - 78 - 0.5 = 0.5 < 1.2", qualifiers=("near_capacity",)),
    Case("rounding leaves the threshold open", sentences("2.00 GiB", "80.00 GiB", "204.80 MiB", "74.80 GiB", "3.00 GiB"), "F5b", "undecidable", "M = 0.2 + 3 - 2 = 1.2 = tau, give or take 0.02", exit_status=11),
    Case("contradicting numbers", sentences("2.00 GiB", "32.00 GiB", "0 bytes", "53.00 GiB", "32.00 MiB", own("17179869184.00 GiB")), "F5", "undecidable",
         "A = 53 > T", qualifiers=("inconsistent_numbers",), exit_status=11),
    Case("others that are not available", sentences("2.00 GiB", "80.00 GiB", "512.00 MiB", "38.00 GiB", "512.00 MiB", process(5, "17179869184.00 GiB") + own("39.50 GiB")), "F5", "external",
         "2^64 bytes stand for unknown: X = 40.5 less the allowance is still more than the deficit 2.2"),
    Case("cut off", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 6 has a total capacity of 40.00 GiB of which 448.00 KiB is free. Process 11976 has 15.0",
         "F5", "undecidable", "nothing of PyTorch's own", missing=("reserved", "allocated"), device=6, exit_status=11),
    Case("an abbreviated message", "torch.OutOfMemoryError: Tried to allocate 6.00 GiB. GPU 2 has total 48.00 GiB of which 2.00 GiB is free.", "F5", "undecidable", "nothing of PyTorch's own",
         missing=("reserved", "allocated"), device=2, exit_status=11),
    Case("a corrupt size", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.", "F8", "undecidable", "the request", qualifiers=("corrupt_size",), device=None, exit_status=11),
    Case("rejected in advance", "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 300.00 MiB",
         "F15", "undecidable", "only the request", missing=("total", "device_free", "reserved", "allocated"), device=None, exit_status=11),
    # PyTorch 1.0 to 2.0
    Case("the oldest: cached beside allocated", brackets("1.00 GiB", "8.00 GiB", "6.00 GiB", "204.80 MiB", "300.00 MiB", last="cached"), "F1", "live_set", "V = 6.3, X = 1.5: M = 0.2 + 0.3 - 1 = -0.5"),
    Case("the oldest: allocated within cached", brackets("1.00 GiB", "8.00 GiB", "2.00 GiB", "204.80 MiB", "7.00 GiB", last="cached"), "F1", "fragmentation_or_deferred_free",
         "2 + 7 + 0.2 > 8, so V = 7: M = 0.2 + 5 - 1 = 4.2", exit_status=11),
    Case("the oldest: in KiB", brackets("607.00 KiB", "8.00 GiB", "7.50 GiB", "128.00 KiB", "1.00 MiB", last="cached"), "F1", "live_set", "M = 0.1 + 1 - 0.6 MiB < tau; X = 0.5"),
    Case("brackets: the live set", brackets("3.00 GiB", "24.00 GiB", "22.00 GiB", "300.00 MiB", "22.30 GiB"), "F2", "live_set", "M = 0.3 + 0.3 - 3; X = 1.4 is below the allowance"),
    Case("brackets: fragmentation, unless frees wait", brackets("10.00 GiB", "24.00 GiB", "1.00 GiB", "9.50 GiB", "13.00 GiB"), "F2", "fragmentation_or_deferred_free", "M = 9.5 + 12 - 10 = 11.5", exit_status=11),
    Case("brackets: outside", brackets("512.00 MiB", "16.00 GiB", "3.50 GiB", "100.00 MiB", "3.75 GiB", hint=OLDER_HINT), "F3", "external", "X = 12.15: 10.65 beyond the allowance; M = 0.1 + 0.25 - 0.5 = -0.15"),
    Case("brackets: a limit", brackets("2.00 GiB", "24.00 GiB", "11.00 GiB", "10.00 GiB", "12.00 GiB", between="12.00 GiB allowed; ", hint=OLDER_HINT), "F3", "live_set", "K = 12: M = 12 - 11 - 2 = -1", qualifiers=("cap",)),
    Case("brackets: active is printed, none waits", "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 64.00 GiB total capacity; 40.00 GiB already allocated; 40.00 GiB current active; 200.00 MiB free; "
         "62.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.", "F3", "fragmentation", "P is at most 0.02: M = 0.2 + 22 - 2 = 20.2 >= 0.96", device=1),
    Case("brackets: active is printed, all waits", "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 64.00 GiB total capacity; 40.00 GiB already allocated; 61.50 GiB current active; 200.00 MiB free; "
         "62.00 GiB reserved in total by PyTorch)", "F2", "live_set", "P = 21.5: M = 0.2 + 0.5 - 2"),
    # Other allocators of PyTorch
    Case("asynchronous: nothing is left", "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 23.90 GiB\nRequested               : 2.00 GiB\n"
         "Device limit            : 24.00 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB", "F7", "live_set", "V in [23.9, 24]: M <= -1.9"),
    Case("asynchronous: the pool is unknown", "torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)\nCurrently allocated     : 21.50 GiB\nRequested               : 1.00 GiB\n"
         "Device limit            : 24.00 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB", "F7", "undecidable",
         "V in [21.5, 24]: M from -1 to 1.5", missing=("reserved", "other_processes", "steps"), device=1, exit_status=11),
    Case("asynchronous: without numbers", "torch.OutOfMemoryError: Allocation on device 0\nGot an OOM, unloading all loaded models.", "F7b", "undecidable", "no number",
         missing=("request", "total", "device_free", "reserved", "allocated"), exit_status=11),
    Case("Metal: the live set", "RuntimeError: MPS backend out of memory (MPS allocated: 16.00 GiB, other allocations: 2.50 MiB, max allowed: 18.13 GiB). Tried to allocate 6.00 GiB on private pool. "
         "Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).", "F10", "live_set", "M = 18.13 - 16 - 6", device=None),
    Case("Metal: other allocations, old units", "RuntimeError: MPS backend out of memory (MPS allocated: 9.50 GB, other allocations: 17.40 GB, max allowed: 27.20 GB). Tried to allocate 512.00 MB on shared pool.",
         "F10", "external", "M = 27.2 - 17.4 - 9.5 - 0.5 = -0.2; E = 15.9", device=None),
    # Other libraries
    Case("an engine's check at its start", "ValueError: Free memory on device (8.00/140.00 GiB) on startup is less than desired GPU memory utilization (0.9, 126.00 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
         "F14", "external", "M = 8 - 126 = -118; X = 132: 130.5 beyond the allowance >= 120.1", device=None),
    Case("the check with a device", "ValueError: Free memory on device cuda:3 (20.00/22.00 GiB) on startup is less than desired GPU memory utilization (0.95, 20.90 GiB)", "F14", "live_set",
         "M = 20 - 20.9 = -0.9; X = 2: 0.5 beyond the allowance < 1.23", device=3),
    Case("profiling was disturbed", "AssertionError: Error in memory profiling. Initial free memory 20.00 GiB, current free memory 21.00 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling.",
         "F13", "undecidable", "no failure's numbers", device=None, exit_status=11),
    Case("XLA", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 6.00GiB (6442450944B) on device ordinal 2", "F11", "undecidable", "only the request",
         missing=("total", "device_free", "reserved", "allocated"), device=2, exit_status=11),
    Case("XLA, newer", "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6442450944 bytes.", "F11", "undecidable", "only the request", device=None, exit_status=11),
    Case("TensorFlow's arena", "2026-01-02 03:04:05.678901: W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator (GPU_6_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested by op", "F12",
         "undecidable", "only the request", device=6, exit_status=11),
    Case("TensorFlow's tensor", "ResourceExhaustedError: OOM when allocating tensor with shape[64,3,512] and type float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc", "F12", "undecidable", "no number", device=1, exit_status=11),
    Case("NCCL", "node:12:34 [5] misc/strongsomething.cc:53 NCCL WARN Cuda failure 2 'out of memory'", "NCCL", "undecidable", "no number", device=None, exit_status=11),
    Case("NCCL's size", "node:12:34 [5] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 10485760 bytes", "NCCL", "undecidable", "only the size", missing=("total", "device_free", "reserved", "allocated"), device=None, exit_status=11),
    Case("NVSHMEM in disguise", "RuntimeError: Failed: CUDA error deep_ep.cpp:230 'invalid argument'", "NVSHMEM", "undecidable", "no number", device=None, exit_status=11),
    Case("RMM's pool", "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:pool_memory_resource.hpp:257: Maximum pool size exceeded (failed to allocate 10.000000 GiB): Not enough room to grow, current/max/try size = 11136000000, 12000000000, 10737418240",
         "RMM", "undecidable", "bytes in use of the pool are not printed", device=None, exit_status=11),
    Case("Spark's store", "Device allocation of 345571976 bytes failed, device store has 0 bytes. Total RMM allocated is 9319438848 bytes.", "Spark", "undecidable", "no pool's size", device=None, exit_status=11),
    Case("the runtime", "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call", "F0", "undecidable", "no number", device=None, exit_status=11),
    Case("the old runtime", "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58", "F0", "undecidable", "no number", device=None, exit_status=11),
    Case("masked by NVML", 'RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":1154, please report a bug to PyTorch.', "F9", "undecidable", "the numbers are lost", device=None, exit_status=11),
]

# What smells of memory and is no format: the kind, and the text.
UNRECOGNISED = [
    ("out_of_memory", "RuntimeError: the gizmo accelerator is out of memory"),
    ("out_of_memory", "CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
    ("out_of_memory", "hipErrorOutOfMemory returned from the launch"),
    ("out_of_memory", "torch.OutOfMemoryError: something new that nobody has seen"),
    ("out_of_memory", "ran for a day, then torch.OutOfMemoryError"),
    ("out_of_memory", "cudaErrorMemoryAllocation"),
    ("resource_exhausted", "StatusCode.RESOURCE_EXHAUSTED"),
    ("failed_to_allocate", "engine: failed to allocate 12 buffers"),
    ("library_status", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ("library_status", "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    ("host_memory", "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)"),
    ("host_memory", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.20 GiB for an array with shape (429496730,) and data type float64"),
    ("host_memory", "java.lang.OutOfMemoryError: Java heap space"),
    ("host_oom_kill", "slurmstepd: error: Detected 1 oom_kill event in StepId=42.0. Some of the step tasks have been OOM Killed."),
    ("host_oom_kill", "Out of memory: Killed process 4242 (python) total-vm:123456kB"),
]

# What is no memory error, however much it looks like one.
HARMLESS = [
    "loading a room of zoom bloom memory",
    "    except torch.cuda.OutOfMemoryError as error:",
    "    except RuntimeError as e:  # CUDA out of memory",
    "    if 'out of memory' in str(error):",
    "    raise torch.OutOfMemoryError(message)",
    "{'loss': 0.5, 'num_ooms': 0, 'active_bytes': 'not a number'}",
    "allocated 3.00 GiB free; 2.00 GiB reserved",
    "",
]
