# SPDX-License-Identifier: Apache-2.0
"""Scenarios of python_program.py about what frames are told by: code objects that come and go, their texts, and those that call
modules."""

import ctypes
import gc
import os
import sys

from own_frames import describe, line_of, probe, start, walk


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
    own = describe(cells.__code__)
    table = getattr(cells.__code__, "co_linetable", None)
    return {
        "texts": texts,
        "long_file": long_file["file_name"],
        "name": describe(method)["name"],
        "whole_name": getattr(method, "co_qualname", method.co_name),
        "first_line": describe(method)["first_line"],
        "huge_table": list(describe(huge)["table"]),
        "own": [own["name"], own["first_line"], own["file_name"], own["version"]],
        "expected": [cells.__code__.co_name, cells.__code__.co_firstlineno, __file__, sys.version_info[0] << 8 | sys.version_info[1]],
        "same_table": own["table"] == (table if table is not None else cells.__code__.co_lnotab),
    }


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
