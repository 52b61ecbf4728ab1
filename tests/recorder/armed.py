# SPDX-License-Identifier: Apache-2.0
"""A recorded job that does what it is told, and the word in its header by which it is armed. Offsets as in WIRE.md §2."""

import mmap
import pathlib
import struct
import subprocess
import time

from recorded import BUILD, LIBRARY, clean_environment, read_ring

RECORD, COLD, STANDBY, DETACH, DISARM = 1, 2, 3, 4, 5
DONE, REFUSED = 1, 2
RECORDING, IS_COLD, IS_STANDBY = 0, 1, 2
BLOCK = 1  # object class
HEADER_BYTES = 65536
WORDS = {"start_mode": (312, "<I"), "arm_state": (316, "<I"), "superseded": (372, "<I"), "arm_request": (384, "<Q"), "arm_until_ns": (392, "<Q"),
         "arm_answer": (400, "<Q"), "armed_from": (408, "<Q"), "disarmed_at": (416, "<Q"), "arm_errno": (440, "<I"), "file_bytes": (24, "<Q"),
         "head": (512, "<Q"), "exit_mark": (712, "<Q"), "exit_status": (720, "<i"), "failure_count": (732, "<I")}


def word(path, name):
    offset, form = WORDS[name]
    with open(path, "rb") as file:
        file.seek(offset)
        return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def put(path, name, value):
    """One aligned store into the mapped header."""
    offset, form = WORDS[name]
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 65536) as mapping:
        view = memoryview(mapping).cast("Q")
        assert form == "<Q" and offset % 8 == 0
        view[offset // 8] = value
        view.release()


def ask(path, wish, for_s=0):
    """The answer, and the errno of a refusal."""
    put(path, "arm_until_ns", time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(for_s * 1e9) if for_s else 0)
    serial = (word(path, "arm_request") >> 8) + 1
    put(path, "arm_request", serial << 8 | wish)
    return wait_for_answer(path, serial)


def wait_until(path, is_so):
    """Waits for what the header is to say, and not for ever."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, {name: word(path, name) for name in WORDS}
        time.sleep(0.01)


def wait_for_answer(path, serial):
    wait_until(path, lambda: word(path, "arm_answer") >> 8 == serial)
    answer = word(path, "arm_answer") & 0xFF
    return answer, word(path, "arm_errno") if answer == REFUSED else 0


class Job:
    def __init__(self, folder, program="arming_job", preload=LIBRARY, **environment):
        self.folder = pathlib.Path(folder)
        settings = {"MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, "MEMSNAP_SAMPLE_MS": 0, "MEMSNAP_STACK": "off", **environment}
        self.process = subprocess.Popen(
            [BUILD / program], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
            env=clean_environment(**({"LD_PRELOAD": preload} if preload else {}), FAKE_CUDA=BUILD / "libfake_cuda.so", **settings),
        )

    def tell(self, command, number=0):
        self.process.stdin.write(f"{command} {number}\n")
        return self.process.stdout.readline().rstrip("\n")

    def live(self):
        """What truly lives: (address, size) pairs."""
        return sorted(tuple(map(int, one.split(":"))) for one in self.tell("live").split())

    def files(self):
        return sorted(self.folder.glob("*.bin"), key=lambda path: (len(path.name), path.name))

    def file(self):
        (path,) = self.files()
        return path

    def end(self, command="exit", status=0):
        """The exit status, after what the job has left to say was read: nothing."""
        self.process.stdin.write(f"{command} {status}\n")
        out, err = self.process.communicate(timeout=60)
        assert (out, err) == ("", "")
        return self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.communicate()


def blocks(ring, of="live"):
    """(address, size) pairs of PyTorch's blocks in what ring_check tells."""
    return sorted((one["address"], one["size"]) for one in ring[of] if one.get("object", BLOCK) == BLOCK)


def whole(path):
    ring = read_ring(path)
    assert ring["violations"] == []
    return ring
