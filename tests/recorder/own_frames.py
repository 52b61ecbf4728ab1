# SPDX-License-Identifier: Apache-2.0
"""The frames of this thread as the probe walks them and as the interpreter shows them. The probe's path is the first argument
of the program. Understood by Python 3.8 and later."""

import ctypes
import dis
import sys

PROBE = sys.argv[1]
probe = ctypes.CDLL(PROBE)  # without the GIL
held = ctypes.PyDLL(PROBE)
for function in (probe.probe_describe, probe.probe_class_name, probe.probe_time_walks, probe.probe_time_module_walks):
    function.restype = ctypes.c_uint64

WAITING, WALKING = 1, 2
CUT = 1 << 31


def start():
    probe.probe_look()
    for _ in range(100_000):
        if probe.probe_state() != WAITING:
            return
    raise AssertionError("nothing was compared")


# ---- what the walk says, and what the interpreter says


def walk(depth=64, function=probe.probe_walk):
    words = (ctypes.c_uint64 * (3 * 128))()
    count = function(depth, words) & 0xFFFFFFFF
    frames = [tuple(words[3 * i : 3 * i + 3]) for i in range(count & ~CUT)]
    return frames, bool(count & CUT)


def line_of(code, instruction):
    if hasattr(code, "co_lines"):
        return next(line for begin, end, line in code.co_lines() if begin <= instruction < end)
    return max(start for start in dis.findlinestarts(code) if start[0] <= instruction)[1]


def own_frames():
    frame, frames = sys._getframe(1), []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def observe(depth=64):
    """The walk beside the interpreter's own account, from the caller of this function outwards; the differences."""
    seen, cut = walk(depth)
    shown = own_frames()
    differences = []
    # walk() and this function lie inside; their own last instructions move on.
    seen = seen[2:]
    outside = shown[1:]
    if len(seen) != min(len(outside), depth - 2) or cut != (len(outside) > depth - 2):
        differences.append(f"{len(seen)} of {len(outside)} frames, cut {cut}")
    for number, ((code, instruction, _), frame) in enumerate(zip(seen, outside)):
        if code != id(frame.f_code):
            differences.append(f"frame {number} is not {frame.f_code.co_name}")
        elif instruction != frame.f_lasti:
            differences.append(f"frame {number} ({frame.f_code.co_name}): {instruction} is not {frame.f_lasti}")
        elif line_of(frame.f_code, instruction) != frame.f_lineno:
            differences.append(f"frame {number} ({frame.f_code.co_name}): another line")
    return differences


def describe(code):
    payload = ctypes.create_string_buffer(65535)
    size = probe.probe_describe(ctypes.c_uint64(id(code)), payload, ctypes.c_uint64(len(payload)))
    data = payload.raw[:size]
    first_line = int.from_bytes(data[:4], "little")
    version, file_bytes, name_bytes, table_bytes = (int.from_bytes(data[i : i + 2], "little") for i in (4, 6, 8, 10))
    assert size == 12 + file_bytes + name_bytes + table_bytes or size == 0
    name_at = 12 + file_bytes
    table_at = name_at + name_bytes
    return {
        "first_line": first_line,
        "version": version,
        "file_name": data[12:name_at].decode(),
        "name": data[name_at:table_at].decode(),
        "table": data[table_at:],
    }
