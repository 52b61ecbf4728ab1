# SPDX-License-Identifier: Apache-2.0
"""Calls of modules, as ranges and as moments to look at a model's inputs.

The outermost call of a thread is labelled "forward"; those two levels inside it by their names in the model. A call is no step: whether it
is one of many in a step, or the whole of one, only steps tell. What the backward pass calls again (checkpoints) is part of that. Module.__call__
itself is wrapped, once: a hook of a module would be copied, saved and scripted with it, and switch off torch's fast paths. Calls that the
compiler traces are left alone. No exception of our own, or of what we ask a module, reaches the program.
"""

import functools
import threading
import weakref

import torch

from . import _native
from ._compiled import compiles_frames, leave_frames_alone, torchs_is_compiling
from ._own_phase import inside_own

_FORWARD = b"forward"
_LABELLED_LEVELS = 2


class _Calls(threading.local):
    level = 0  # of module calls in progress on this thread, as far as they are counted
    running = (None, b"")  # the module that is called, and its label


class _Labels:
    """The name of a module below the one that calls it: its path of attributes, or its class where that is a mere number or unknown. A module's
    own code may run here (named_modules, __hash__), and fail: it is its class then."""

    def __init__(self):
        self._names = weakref.WeakKeyDictionary()  # caller: {identity of a module: (the module, weakly; its name)}

    def of(self, module, caller, callers_label: bytes) -> bytes:
        try:
            names = self._names.get(caller)
            if names is None:
                names = self._names[caller] = self._parts(caller)
        except Exception:  # a module that cannot be a key
            names = {}
        known = names.get(id(module))
        if known is None or known[0]() is not module:
            known = names[id(module)] = (weakref.ref(module), self._text("", module))
        return callers_label + b"." + known[1] if callers_label else known[1]

    def _parts(self, caller) -> dict:
        """None of one that fails, which thus is not asked again."""
        try:
            return {id(part): (weakref.ref(part), self._text(path, part)) for path, part in caller.named_modules()}
        except Exception:
            return {}

    @staticmethod
    def _text(path: str, module) -> bytes:
        if not path or path.isdigit():
            path = f"{type(module).__name__}{'.' if path else ''}{path}"
        return path.encode("utf-8", "replace")


_watched = {}  # by identity: (a model, weakly; what is told of its arguments before each call)
_ranges = []  # empty: calls are no ranges (yet)


def _graph_task_test():
    """Whether the calling thread runs a backward pass; never, where torch does not tell."""
    current = getattr(torch._C, "_current_graph_task_id", None)
    return (lambda: current() != -1) if current else (lambda: False)


def _call_wrapping(original):
    """One frame more a call, no other: frames are what a site is made of, and Python bounds them. Calls that are only passed through have it
    too: the compiler wants one function here, whoever asks and whenever."""
    calls, labels, watched, ranges = _Calls(), _Labels(), _watched, _ranges
    is_compiling, is_under_compiler, is_in_backward = torchs_is_compiling(), compiles_frames(), _graph_task_test()

    @functools.wraps(original)
    def call(self, *arguments, **options):
        if is_compiling():
            return original(self, *arguments, **options)
        known = watched.get(id(self)) if watched else None
        if known is not None and known[0]() is self:
            known[1](arguments, options)
        level = calls.level
        if level > _LABELLED_LEVELS or not ranges or is_under_compiler() or (not level and is_in_backward()):
            return original(self, *arguments, **options)
        outer, handle = calls.running, 0
        try:
            label = labels.of(self, *outer) if level else b""
            named = inside_own(label or _FORWARD)
            handle = _native.begin(_native.LABEL, named, len(named), 0)
            calls.level, calls.running = level + 1, (self, label)
            return original(self, *arguments, **options)
        finally:
            calls.level, calls.running = level, outer
            _native.end(handle)

    leave_frames_alone(call, is_under_compiler)
    return call


@functools.lru_cache(maxsize=None)
def _install() -> None:
    torch.nn.Module.__call__ = _call_wrapping(torch.nn.Module.__call__)


def make_ranges() -> None:
    """Module calls are ranges from now on."""
    _install()
    _ranges.append(True)


def watch(model, action) -> None:
    """action(arguments, options) runs before each call of a model from now on, as long as the model lives."""
    key = id(model)
    _watched[key] = (weakref.ref(model, lambda gone: _forget(key, gone)), action)
    _install()


def _forget(key, gone) -> None:
    known = _watched.get(key)
    if known is not None and known[0] is gone:
        _watched.pop(key, None)
