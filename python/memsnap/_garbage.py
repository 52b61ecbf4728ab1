# SPDX-License-Identifier: Apache-2.0
"""Passes of Python's cyclic garbage collector as ranges, so that what is freed in them is known to have been held by cycles.

A pass never runs inside another, and begins and ends on one thread.
"""

import gc

from . import _native

_open = []


def _on_pass(when, info, begin=_native.begin, end=_native.end, handles=_open, family=_native.COLLECTION):
    """What it needs it has as defaults: the last passes run when modules are already empty."""
    if when == "start":
        handles.append(begin(family, b"", 0, info["generation"]))
    elif handles:
        end(handles.pop())


def watch() -> None:
    """Tells the recorder of every pass from now on."""
    if _native.active and _on_pass not in gc.callbacks:
        gc.callbacks.append(_on_pass)
