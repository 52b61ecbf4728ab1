# SPDX-License-Identifier: Apache-2.0
"""Whether the driver's cuGetProcAddress hands out its exported functions, on which the recorder's substitution rests. Prints a list of
[base name, version, flags, exported name, word] as JSON; runs without the recorder."""

import ctypes
import json

PER_THREAD_STREAM = 2
# Base name, version, flags, export: one row for each binary interface that runtimes ask for.
ROWS = [
    *[(name, 3020, 0, f"{name}_v2") for name in ("cuMemAlloc", "cuMemAllocPitch", "cuMemFree", "cuMemGetInfo", "cuArrayCreate", "cuArray3DCreate")],
    *[(name, 2000, 0, name) for name in ("cuInit", "cuMemFreeHost", "cuArrayDestroy", "cuCtxGetDevice")],
    ("cuMemHostAlloc", 2020, 0, "cuMemHostAlloc"), ("cuMemHostRegister", 6050, 0, "cuMemHostRegister_v2"),
    ("cuMemHostUnregister", 4000, 0, "cuMemHostUnregister"), ("cuMemAllocManaged", 6000, 0, "cuMemAllocManaged"),
    *[(name, 11020, flags, name + suffix) for name in ("cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync")
      for flags, suffix in ((0, ""), (PER_THREAD_STREAM, "_ptsz"))],
    *[(name, 11020, 0, name) for name in ("cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolTrimTo", "cuMemPoolSetAttribute")],
    *[(name, 10020, 0, name) for name in ("cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemAddressReserve", "cuMemAddressFree")],
    ("cuMemRetainAllocationHandle", 11000, 0, "cuMemRetainAllocationHandle"),
    ("cuIpcOpenMemHandle", 11000, 0, "cuIpcOpenMemHandle_v2"), ("cuIpcCloseMemHandle", 4010, 0, "cuIpcCloseMemHandle"),
    ("cuDevicePrimaryCtxRetain", 7000, 0, "cuDevicePrimaryCtxRetain"),
    ("cuDevicePrimaryCtxRelease", 7000, 0, "cuDevicePrimaryCtxRelease"), ("cuDevicePrimaryCtxRelease", 11000, 0, "cuDevicePrimaryCtxRelease_v2"),
    ("cuGetProcAddress", 11030, 0, "cuGetProcAddress"), ("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"),
]


def main() -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    driver.cuGetProcAddress_v2.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p]
    answers = []
    for name, version, flags, export in ROWS:
        found, exported = ctypes.c_void_p(), getattr(driver, export, None)
        result = driver.cuGetProcAddress_v2(name.encode(), ctypes.byref(found), version, flags, None)
        expected = None if exported is None else ctypes.cast(exported, ctypes.c_void_p).value
        word = "refused" if result != 0 else "not exported" if expected is None else "equal" if found.value == expected else "different"
        answers.append([name, version, flags, export, word])
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
