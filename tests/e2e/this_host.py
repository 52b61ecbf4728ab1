# SPDX-License-Identifier: Apache-2.0
"""This host as headers name it, and a program on it that may read no more than its user's files, also where the tests run as root."""

import ctypes
import os
import pathlib
import subprocess

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def here() -> int:
    """This running kernel as headers name it: FNV-1a of the boot id."""
    key = 0xCBF29CE484222325
    for byte in pathlib.Path("/proc/sys/kernel/random/boot_id").read_bytes():
        key = (key ^ byte) * 0x100000001B3 % (1 << 64)
    return key


def own_process() -> dict:
    """Header fields that name this process."""
    fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return {"pid": os.getpid(), "process_start_ticks": fields[19], "pid_namespace": os.stat("/proc/self/ns/pid").st_ino, "host_key": here()}


def _give_up_reading_all() -> None:
    if os.geteuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def as_another(arguments: list) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, arguments)], capture_output=True, text=True, timeout=60, preexec_fn=_give_up_reading_all)
