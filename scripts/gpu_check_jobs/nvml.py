# SPDX-License-Identifier: Apache-2.0
"""What NVML itself says of a card, by ctypes: a second witness beside the recorder's own samples."""

import ctypes

SUCCESS = 0


class Memory(ctypes.Structure):  # nvmlMemory_v2_t
    _fields_ = [("version", ctypes.c_uint)] + [(name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")]


def memory(uuid: str):
    """{"total_bytes", "free_bytes"} of the card or MIG instance with this UUID, total without what the driver reserves; else the reason why not."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return "NVML is not here"
    if library.nvmlInit_v2() != SUCCESS:
        return "NVML refuses"
    handle = ctypes.c_void_p()
    names = [f"{kind}-{uuid}".encode() for kind in ("GPU", "MIG")]
    if all(library.nvmlDeviceGetHandleByUUID(name, ctypes.byref(handle)) != SUCCESS for name in names):
        return "NVML does not know the card"
    found = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
    if library.nvmlDeviceGetMemoryInfo_v2(handle, ctypes.byref(found)) != SUCCESS:
        return "NVML does not tell its memory"
    return {"total_bytes": found.total - found.reserved, "free_bytes": found.free}
