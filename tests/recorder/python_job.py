# SPDX-License-Identifier: Apache-2.0
"""A Python program on a fake GPU for test_recorder_python_sites.py: it starts the driver and reports blocks through the
allocator's library, each with an address of its own, and prints where it was when it did.

    python python_job.py BUILD_FOLDER SCENARIO
"""

import ctypes
import os
import sys
import threading

BUILD, SCENARIO = sys.argv[1:3]
allocator = ctypes.CDLL(os.path.join(BUILD, "libc10_cuda.so"))
allocator.fake_report.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]


def start_driver(load=ctypes.CDLL):
    driver = load(os.path.join(BUILD, "libfake_cuda.so"))
    assert driver.cuInit(0) == 0
    for _ in range(1000):  # the interpreter's own moment comes
        pass


def here():
    """(file, name, line) of the frames outside this function, innermost first."""
    frame, frames = sys._getframe(1), []
    while frame is not None:
        code = frame.f_code
        frames.append((code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno))
        frame = frame.f_back
    return frames


def allocate(number):
    # One line, as its number is told.
    allocator.fake_report(number << 20, 512, 512 * number, 1 << 21, 0); told(number, here())


def told(number, frames):
    sys.stdout.write(repr((number, frames)) + "\n")
    sys.stdout.flush()


def nested(depth, number):
    return allocate(number) if depth == 0 else nested(depth - 1, number)


def plain():
    start_driver()
    nested(5, 1)
    [allocate(number) for number in (2, 3)]
    exec(compile("\n\nallocate(4)", "<cell>", "exec"), globals())
    worker = threading.Thread(target=nested, args=(2, 5))
    worker.start()
    worker.join()


def forked():
    start_driver()
    nested(1, 1)
    child = os.fork()
    nested(2, 2)
    if child:
        os.waitpid(child, 0)


def without_driver():
    """The first memory is taken before any driver was seen."""
    allocator.fake_report(1 << 20, 512, 512, 1 << 21, 0)
    for _ in range(1000):
        pass
    nested(1, 2)


def in_a_worker():
    """The main thread does nothing but wait; the call that starts the driver holds the GIL, as PyTorch's does."""

    def work():
        start_driver(ctypes.PyDLL)
        nested(1, 1)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


def quiet():
    start_driver()
    allocator.fake_report(1 << 20, 512, 512, 1 << 21, 0)
    print("the job's own words", 3 + 4)
    sys.exit(3)


globals()[SCENARIO]()
