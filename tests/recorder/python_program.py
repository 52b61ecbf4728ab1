# SPDX-License-Identifier: Apache-2.0
"""What an interpreter runs for test_recorder_python_walk.py: one scenario that looks at its own frames through the
probe and prints what it saw as JSON. Understood by Python 3.8 and later.

    python python_program.py PROBE SCENARIO
"""

import ctypes
import gc
import json
import os
import sys
import threading
import time

from own_frames import PROBE, WALKING, describe, held, line_of, observe, probe, start, walk

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


def cells():
    """Notebook cells: code objects come and go, and their memory is used again."""
    start()
    sources = {}
    addresses = set()
    for number in range(3000):
        names = {"walk": walk, "number": number}
        exec(compile(f"def cell_{number}():\n    return walk(3)[0][1]\nframe = cell_{number}()", f"<cell {number}>", "exec"), names)
        sources.setdefault(names["frame"], set()).add(number)
        addresses.add(names["frame"][0])
        del names
        if number % 50 == 0:
            gc.collect()
    return {"keys": len(sources), "addresses": len(addresses), "shared": sum(len(one) > 1 for one in sources.values())}


def names():
    start()
    texts = {}
    wide = {
        "ascii": "plain",
        "latin": "na\u00efve",
        "greek": "\u03a9\u0434\u20ac",
        "gothic": "\u0391\U00010348",
        "lone": "un\udc80decodable",
    }
    for key, name in wide.items():
        code = compile("def f():\n pass", f"/folder/{name}.py", "exec")
        texts[key] = [describe(code)["file_name"], f"/folder/{name}.py".encode("utf-8", "replace").decode()]
    long_file = describe(compile("0", "/" + "\u20ac" * 2000 + ".py", "exec"))
    code = compile("\n\nclass Outer:\n  def " + "x" * 600 + "(self):\n    pass", "file.py", "exec")
    function = next(part for part in code.co_consts if hasattr(part, "co_code"))
    method = next(part for part in function.co_consts if hasattr(part, "co_code"))
    huge = compile("\n".join(f"x = {number} + len('a')" for number in range(40_000)), "huge.py", "exec")
    own = describe(nested.__code__)
    table = getattr(nested.__code__, "co_linetable", None)
    return {
        "texts": texts,
        "long_file": long_file["file_name"],
        "name": describe(method)["name"],
        "whole_name": getattr(method, "co_qualname", method.co_name),
        "first_line": describe(method)["first_line"],
        "huge_table": list(describe(huge)["table"]),
        "own": [own["name"], own["first_line"], own["file_name"], own["version"]],
        "expected": [nested.__code__.co_name, nested.__code__.co_firstlineno, __file__, sys.version_info[0] << 8 | sys.version_info[1]],
        "same_table": own["table"] == (table if table is not None else nested.__code__.co_lnotab),
    }


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


def modules():
    """A copy of how PyTorch calls modules, in a file of its name."""
    start()
    folder = os.path.join(os.environ["MODULE_FOLDER"], "torch/nn/modules")
    os.makedirs(folder, exist_ok=True)
    form = os.environ["MODULE_FORM"]
    source = {
        "wrapped": "class Module:\n"
        "  def _wrapped_call_impl(self, *args, **kwargs):\n    return self._call_impl(*args, **kwargs)\n"
        "  def _call_impl(self, *args, **kwargs):\n    return (lambda: self.forward(*args, **kwargs))()\n"
        "  __call__ = _wrapped_call_impl\n",
        "plain": "class Module:\n  def _call_impl(self, *args, **kwargs):\n    return self.forward(*args, **kwargs)\n  __call__ = _call_impl\n",
        "cell": "class Module:\n  def _call_impl(self, *args, **kwargs):\n    return (lambda: self.forward(*args))()\n  __call__ = _call_impl\n",
    }[form]
    path = os.path.join(folder, "module.py")
    names = {}
    exec(compile(source, path, "exec"), names)
    Module = names["Module"]

    words = (ctypes.c_uint64 * 6)()
    text = ctypes.create_string_buffer(64)

    def module_call():
        probe.probe_module(words)
        size = probe.probe_class_name(ctypes.c_uint64(words[1]), text, ctypes.c_uint64(len(text)))
        return list(words), text.raw[:size].decode()

    class Inner(Module):
        def forward(self, found):
            found.append(module_call())

    class Whole(Module):
        def __init__(self):
            self.inner = Inner()

        def forward(self, found):
            found.append(module_call())
            self.inner(found)

    before = module_call()
    for function in vars(Module).values():
        if hasattr(function, "__code__"):
            describe(function.__code__)
    whole = Whole()
    calls = []

    def calling():
        whole(calls)  # the caller's line
        return calls

    def deeply(depth):
        return calling() if depth == 0 else deeply(depth - 1)

    calling()
    deeply(100)
    line = calling.__code__.co_firstlineno + 1
    looped = []
    for _ in range(5):
        whole(looped)
    return {
        "before": before,
        "outside": module_call(),
        "modules": [[call[0][1] == id(whole), call[1], call[0][2] == id(calling.__code__), line_of(calling.__code__, call[0][3]) == line] for call in calls],
        "frames": [call[0][0] for call in calls],
        "looped_frames": len({call[0][0] for call in looped}),
        "looped_activations": [call[0][5] for call in looped],
    }


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


result = globals()[SCENARIO]()
print(json.dumps(result))
