# SPDX-License-Identifier: Apache-2.0
"""A process that has a recorder mapped, to see what an update does to it."""

import contextlib
import pathlib
import subprocess
import sys


def mapped_recorder(pid: int) -> tuple:
    """(path, inode) of the recorder that a process has mapped."""
    rows = [line.split(None, 5) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines() if "libmemsnap.so" in line]
    ((inode, path),) = {(int(row[4]), row[5]) for row in rows}
    return path, inode


@contextlib.contextmanager
def preloaded(library: pathlib.Path):
    """A running process that answers each line with "alive" and the version word that the mapped recorder itself says."""
    program = "import ctypes, sys\nversion = ctypes.CDLL(None).memsnap1_version\nprint('ready', flush=True)\nfor line in sys.stdin: print('alive', version(), flush=True)"
    process = subprocess.Popen([sys.executable, "-c", program], env={"LD_PRELOAD": str(library)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()


def answer(process) -> str:
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()
