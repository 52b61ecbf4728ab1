# SPDX-License-Identifier: Apache-2.0
"""A process with a recording by interpose/WIRE.md, header alone, that answers requests as the recorder does: stand_in_job.py FILE [NAME=number …]
[deaf | refuses]. Each NAME is a word of the header below. Says "ready", and each wish that it took."""

import mmap
import os
import struct
import sys
import time

WORDS = {"version": (8, "<H"), "pid": (240, "<I"), "rank": (252, "<i"), "ticks": (264, "<Q"), "namespace": (272, "<Q"), "arm_state": (316, "<I"), "channel": (368, "<I"),
         "superseded": (372, "<I"), "host_key": (376, "<Q"), "request": (384, "<Q"), "until": (392, "<Q"), "answer": (400, "<Q"), "disarmed_at": (416, "<Q"),
         "errno": (440, "<I"), "lost": (576, "<Q"), "exit_mark": (712, "<Q"), "exit_status": (720, "<i"), "failures": (732, "<I")}
RECORD, COLD, STANDBY, DETACH, DISARM = 1, 2, 3, 4, 5
STATES = {RECORD: 0, COLD: 1, STANDBY: 2, DETACH: 1, DISARM: 1}


def header(**words) -> bytes:
    """A header of this process, with these words instead."""
    with open("/proc/self/stat", "rb") as stat:
        ticks = int(stat.read().rpartition(b")")[2].split()[19])
    known = {"version": 1, "pid": os.getpid(), "rank": -1, "ticks": ticks, "namespace": os.stat("/proc/self/ns/pid").st_ino, "arm_state": 1} | words
    data = bytearray(65536)
    struct.pack_into("<8sHHIIIQ", data, 0, b"\x89MEMSNAP", 1, 0, 0x01020304, 768, 64, len(data))
    for name, value in known.items():
        struct.pack_into(WORDS[name][1], data, WORDS[name][0], value)
    return bytes(data)


def main() -> None:
    path, *rest = sys.argv[1:]
    words = {name: int(value) for name, _, value in (text.partition("=") for text in rest if "=" in text)}
    with open(path, "xb") as made:
        made.write(header(**words))
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 65536)

    def get(name):
        return struct.unpack_from(WORDS[name][1], page, WORDS[name][0])[0]

    def put(name, value):
        struct.pack_into(WORDS[name][1], page, WORDS[name][0], value)

    print("ready", flush=True)
    answered = 0
    while "deaf" not in rest or time.sleep(60):
        request = get("request")
        if request >> 8 != answered:
            answered, wish = request >> 8, request & 0xFF
            print("wish", wish, "until", get("until"), flush=True)
            if "refuses" in rest:
                put("errno", 28)
            else:
                put("arm_state", STATES[wish])
                put("disarmed_at", 0 if wish == RECORD else 1)
            put("answer", answered << 8 | (2 if "refuses" in rest else 1))
        time.sleep(0.02)


if __name__ == "__main__":
    main()
