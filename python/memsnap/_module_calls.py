# SPDX-License-Identifier: Apache-2.0
"""Calls of modules, as ranges and as moments to look at a model's inputs.

The outermost call of a thread is the range "forward"; those two levels inside it are labels by their names in the model. Module.__call__
itself is wrapped, once: a hook of a module would be copied, saved and scripted with it, and switch off torch's fast paths. Calls that the
compiler traces are left alone.
"""

import functools
import threading
import weakref

import torch

from . import _native
from ._compiled import compiles_frames, leave_frames_alone, torchs_is_compiling

_FORWARD = b"forward"
_LABELLED_LEVELS = 2


class _Calls(threading.local):
    level = 0  # of module calls in progress on this thread, as far as they are counted
    running = (None, b"")  # the module that is called, and its label


class _Labels:
    """The name of a module below the one that calls it: its path of attributes, or its class where that is a mere number or unknown."""

    def __init__(self):
        self._names = weakref.WeakKeyDictionary()  # caller: {identity of a module: (the module, weakly; its name)}

    def of(self, module, caller, callers_label: bytes) -> bytes:
        try:
            names = self._names.get(caller)
            if names is None:
                names = self._names[caller] = {id(part): (weakref.ref(part), self._text(path, part)) for path, part in caller.named_modules()}
            known = names.get(id(module))
            if known is None or known[0]() is not module:
                known = names[id(module)] = (weakref.ref(module), self._text("", module))
            return callers_label + b"." + known[1] if callers_label else known[1]
        except TypeError:  # a module that cannot be a key
            return self._text("", module)

    @staticmethod
    def _text(path: str, module) -> bytes:
        if not path or path.isdigit():
            path = f"{type(module).__name__}{'.' if path else ''}{path}"
        return path.encode("utf-8", "replace")


_watched = {}  # by identity: (a model, weakly; what is told of its arguments before each call)
_ranges = []  # empty: calls are no ranges (yet)


def _call_wrapping(original):
    """One frame more a call, no other: frames are what a site is made of."""
    calls, labels, watched, ranges = _Calls(), _Labels(), _watched, _ranges
    is_compiling, is_under_compiler = torchs_is_compiling(), compiles_frames()

    @functools.wraps(original)
    def call(self, *arguments, **options):
        if is_compiling():
            return original(self, *arguments, **options)
        if watched and id(self) in watched:
            model, action = watched[id(self)]
            if model() is self:
                action(arguments, options)
        level = calls.level
        if level > _LABELLED_LEVELS or not ranges or is_under_compiler():
            return original(self, *arguments, **options)
        outer, handle = calls.running, 0
        try:
            if level:
                label = labels.of(self, *outer)
                handle = _native.begin(_native.LABEL, label, len(label), 0)
            else:
                label = b""
                handle = _native.begin(_native.RANGE, _FORWARD, len(_FORWARD), 0)
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
