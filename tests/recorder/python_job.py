# SPDX-License-Identifier: Apache-2.0
"""A Python program on a fake GPU for test_recorder_python_sites.py: it starts the driver and reports blocks through the
allocator's library, each with an address of its own, and prints where it was when it did.

    python python_job.py BUILD_FOLDER SCENARIO
"""

import ctypes
import glob
import os
import random
import sys
import threading
import time

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


def again():
    """Each place many times, in turns: by other lines and functions, deeper, by a generator's callers, and in cells whose code
    comes and goes."""
    start_driver()
    numbers = iter(range(1, 10_000))

    def inner():
        allocate(next(numbers))

    def middle(way):
        if way == 0:
            inner()
        else:
            inner()

    def resumed():
        while True:
            inner()
            yield

    def one_caller(generator):
        next(generator)

    def another_caller(generator):
        next(generator)

    def deeply(depth):
        return inner() if depth == 0 else deeply(depth - 1)

    generator = resumed()
    for turn in range(100):
        for way in (0, 0, 0, 1, 1, 1):
            middle(way)
        for caller in (one_caller, one_caller, one_caller, another_caller):
            caller(generator)
        deeply(turn // 10)
        for _ in range(3):
            exec(compile("\n" * (turn // 5 % 7) + "inner()", "<cell>", "exec"), {"inner": inner})


def wait_for_native_walks():
    """Until the header of the recording says so."""
    allocator.fake_report(1 << 20, 512, 512, 1 << 21, 0)
    (ring,) = glob.glob("*.bin")
    walking = b"\1"
    with open(ring, "rb", buffering=0) as file:
        while os.pread(file.fileno(), 1, 326) != walking:
            time.sleep(0.001)


def greenlets():
    """Stacks that are copied away and back, so that what lies above a greenlet's own frames is of others."""
    import greenlet

    start_driver()
    wait_for_native_walks()
    chance = random.Random(1)

    def deep(depth, call):
        return list(map(lambda _: deep(depth - 1, call), [0])) if depth else call()

    def report_and_switch():
        allocator.fake_report(2 << 20, 512, 1024, 1 << 21, 0)
        allocator.fake_report(2 << 20, -512, 512, 1 << 21, 0)
        greenlet.getcurrent().parent.switch()

    def body():
        while True:
            deep(chance.randrange(12), report_and_switch)

    def work():
        switched = []
        for _ in range(60):
            switched.append(greenlet.greenlet(body))
            deep(chance.randrange(40), switched[-1].switch)
        for _ in range(4000):
            deep(chance.randrange(40), chance.choice(switched).switch)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def forked():
    start_driver()
    nested(1, 1)
    child = os.fork()
    nested(2, 2)
    if child:
        os.waitpid(child, 0)


def before_driver():
    """The first memory is taken before any driver was seen, and all other after."""
    without_driver()
    start_driver()
    nested(1, 3)


def without_driver():
    allocator.fake_report(1 << 20, 512, 512, 1 << 21, 0)
    for _ in range(1000):
        pass
    allocator.fake_report(2 << 20, 512, 1024, 1 << 21, 0)


def deallocator():
    """Whether code objects are still ended by the interpreter's own function once the driver runs."""
    offset_bytes = 48
    in_type = ctypes.c_void_p.from_address(id(type(start_driver.__code__)) + offset_bytes)
    before = in_type.value
    start_driver(ctypes.PyDLL)
    allocator.fake_report(1 << 20, 512, 512, 1 << 21, 0)
    for _ in range(1000):
        pass
    print(in_type.value == before)


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
