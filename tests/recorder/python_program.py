# SPDX-License-Identifier: Apache-2.0
"""What an interpreter runs for test_recorder_python_walk.py: one scenario that looks at its own frames through the
probe and prints what it saw as JSON; code_scenarios.py has more of them. Understood by Python 3.8 and later.

    python python_program.py PROBE SCENARIO
"""

import ctypes
import gc
import json
import os
import sys
import threading
import time

import code_scenarios
from own_frames import PROBE, WALKING, held, observe, probe, start, walk

SCENARIO = sys.argv[2]


def nested(depth):
    return observe() if depth == 0 else nested(depth - 1)


def plain():
    start()
    return {"state": probe.probe_state(), "version": probe.probe_version(), "differences": nested(20) + observe()}


def inside_a_call():
    """A worker's call that holds the GIL, or has given it up, while the main thread stays outside the interpreter."""
    states = []

    def work():
        while not held.probe_is_main_waiting():
            time.sleep(0)
        (held if os.environ["GIL"] == "held" else probe).probe_look_at_start()
        states.append(probe.probe_state())
        probe.probe_let_main_go()

    worker = threading.Thread(target=work)
    worker.start()
    probe.probe_wait_in_main()
    worker.join()
    for _ in range(100_000):
        pass
    return {"states": states, "later": probe.probe_state(), "enabled": gc.isenabled(), "differences": nested(3)}


def deep():
    sys.setrecursionlimit(5000)

    def start_at(depth):
        return start() if depth == 0 else start_at(depth - 1)

    start_at(2000)
    found = {"verified": [] if probe.probe_state() == WALKING else ["not verified"]}
    for depth in (40, 300, 900, 3000):
        found[depth] = nested(depth)
    return found


def generators():
    start()

    def inner():
        yield observe()
        yield nested(3)

    def outer():
        yield from inner()

    class Awaited:
        def __await__(self):
            yield observe()

    async def coroutine():
        await Awaited()

    async def values():
        yield observe()

    async def loop():
        async for value in values():
            return value

    def run(started):
        try:
            return started.send(None)
        except StopIteration as stop:
            return stop.value

    class Iterated:
        def __next__(self):
            return observe()

        def __iter__(self):
            return self

    return {
        "generator": [one for differences in outer() for one in differences],
        "coroutine": run(coroutine()),
        "async generator": run(loop()),
        "expression": [one for part in (observe() for _ in range(3)) for one in part],
        "comprehension": [one for part in [observe() for _ in range(3)] for one in part],
        "next": next(Iterated()),
    }


def recalled():
    """One innermost frame below callers that differ in their line, their function, their number or their code alone."""
    start()
    sys.setrecursionlimit(5000)
    found = []

    def inner():
        found.extend(observe())

    def middle(way):
        if way == 0:
            inner()
        else:
            inner()

    def other_middle(way):
        return middle(way)

    def resumed():
        while True:
            inner()
            yield

    def deeply(depth):
        return inner() if depth == 0 else deeply(depth - 1)

    def one_caller(generator):
        next(generator)

    def another_caller(generator):
        next(generator)

    generator = resumed()
    cells = []
    for turn in range(300):
        middle(turn // 3 % 2)
        other_middle(turn // 3 % 2)
        (one_caller, another_caller)[turn // 3 % 2](generator)
        if turn % 10 == 0:
            deeply(turn)
        cells.append({"inner": inner})
        exec(compile("\n" * (turn % 7) + "inner()", "<cell>", "exec"), cells[-1])
    # Nobody holds these frames, so that those of older interpreters lie where they lay.
    before = probe.probe_recalled_count()
    for _ in range(100):
        walk()
    return {"recalled": probe.probe_recalled_count() - before, "differences": found}


def through_c():
    """Frames of the C stack between those of Python."""
    start()
    found = []

    def key(value):
        found.extend(nested(2))
        return value

    sorted([2, 1], key=key)
    list(map(key, [1]))

    class Compared:
        def __eq__(self, other):
            found.extend(observe())
            return True

    [Compared()].index(3)
    ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(key)(1)
    exec("observed = observe()", globals())
    return found + globals()["observed"]


def unfinished_frames():
    """The collector runs while a frame is being made, in versions that collect at allocations."""
    start()
    found = []
    calls = []

    def watch(phase, information):
        calls.append(phase)
        found.extend(observe())

    def with_cells():
        first, second = [], []
        return lambda: (first, second)

    gc.callbacks.append(watch)
    gc.set_threshold(1)
    for _ in range(200):
        with_cells()
    gc.set_threshold(700)
    gc.callbacks.remove(watch)
    return {"calls": len(calls), "differences": found}


def threads():
    start()
    found = []

    def work():
        for depth in range(200):
            found.extend(nested(depth % 30))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    foreign, _ = walk(function=probe.probe_walk_on_foreign_thread)
    return {"differences": found, "foreign": len(foreign)}


def greenlets():
    start()
    import greenlet

    found = []

    def other(depth):
        if depth:
            return other(depth - 1)
        found.extend(observe())
        main.switch()
        found.extend(observe())

    main = greenlet.getcurrent()
    switched = [greenlet.greenlet(other) for _ in range(3)]
    for turn in range(2):
        for number, one in enumerate(switched):
            one.switch(*([number * 5] if turn == 0 else []))
            found.extend(observe())
    return found


def forks():
    start()
    found = {"parent": nested(3)}
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps([probe.probe_state(), nested(3)]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    found["child"] = json.loads(os.read(reader, 65536))
    return found


def forks_before():
    """The comparison still waits in the interpreter's queue when the process forks."""
    held.probe_look()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        start()
        os.write(writer, json.dumps([probe.probe_state(), nested(3)]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    return json.loads(os.read(reader, 65536))


def unknown_version():
    probe.probe_look()
    return probe.probe_state()


def layout():
    offsets = (ctypes.c_uint16 * 64)()
    return list(offsets[: probe.probe_layout(offsets)])


def wrong_offsets():
    outcomes = {}

    def with_argument(argument):
        for field in range(14):
            for change in (0, 8, -8, 16, -16, 512, 4000):
                outcomes.setdefault(field, []).append(held.probe_compare(field, change))

    with_argument(())
    start()
    return {"outcomes": outcomes, "alive": nested(3)}


def ends():
    """Frames are walked while the interpreter ends, by its own thread and by one that it leaves behind."""
    start()
    running = threading.Event()

    def loop():
        words = (ctypes.c_uint64 * (3 * 128))()
        running.set()
        while True:
            probe.probe_walk(64, words)

    class Late:
        def __del__(self, walk=probe.probe_walk, words=(ctypes.c_uint64 * (3 * 128))(), leave=os._exit):
            if walk(64, words) != 0:
                leave(9)

    for _ in range(3):
        threading.Thread(target=loop, daemon=True).start()
    running.wait()
    sys.late = Late()
    import atexit

    atexit.register(nested, 3)
    return nested(3)


def other_interpreters():
    start()
    code = "import ctypes, sys\np = ctypes.CDLL(%r)\nw = (ctypes.c_uint64 * 384)()\nfor i in range(50):\n  p.probe_walk(64, w)\n  p.probe_look()\n" % PROBE
    try:
        import _xxsubinterpreters as interpreters

        other = interpreters.create(isolated=False)
        run = interpreters.run_string
    except ImportError:
        import _interpreters as interpreters

        other = interpreters.create("legacy")
        run = interpreters.exec
    outcome = run(other, code)
    interpreters.destroy(other)
    return {"outcome": str(outcome), "differences": nested(3), "state": probe.probe_state()}


def costs():
    start()
    found = {}

    def at(depth, measure):
        return measure() if depth == 1 else at(depth - 1, measure)

    for depth in (20, 48):
        for _ in range(300):
            cost = at(depth - 4, lambda: probe.probe_time_walks(depth, 1000) / 1000)
            found[depth] = min(cost, found.get(depth, cost))
    return found


result = (globals().get(SCENARIO) or getattr(code_scenarios, SCENARIO))()
assert probe.probe_untrue_count() == 0
print(json.dumps(result))
