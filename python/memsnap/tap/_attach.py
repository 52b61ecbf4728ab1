# SPDX-License-Identifier: Apache-2.0
"""Loads the tap that was built for this torch, and attaches it once, after CUDA's initialisation. The rules: what does not fit exactly is
not used; nothing that goes wrong here reaches the program; nothing is built."""

import ctypes
import os
import pathlib
import sys

from .. import _native
from . import _folder, _key

_MESSAGE_BYTES = 512

_done = {}  # by process id: whether the tap is attached. A child of fork that initialises CUDA itself attaches anew


class NotOurs(Exception):
    """A library that is no tap for this torch, and why."""


def load(path, key: str) -> ctypes.CDLL:
    """The library at a path, when it is a tap made for this very torch. OSError: it cannot be loaded."""
    library = ctypes.CDLL(str(path))
    try:
        built_for = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "memsnap_tap_key")))
        library.memsnap_tap_attach
    except (AttributeError, ValueError):
        raise NotOurs(f"{path} is no tap") from None
    if built_for != key.encode():
        raise NotOurs(f"{path} was built for another torch or by another memsnap: run `memsnap tap build`")
    return library


def _wish() -> str:
    """`off`, `auto`, or a tap's path."""
    return os.environ.get("MEMSNAP_TAP") or "auto"


def _say(problem) -> None:
    if not os.environ.get("MEMSNAP_QUIET") and sys.stderr is not None:
        sys.stderr.write(f"memsnap: the torch tap is not attached: {problem}\n")


def _attach_to(torch) -> int:
    """Attaches; returns what the recorder is told of it."""
    wish = _wish()
    if wish == "auto":
        if not _folder.taps():
            return _native.TAP_MISSING
        key = _key.key_of(torch)
        path = _folder.folder() / _key.file_name(torch, key)
        if not path.is_file():
            return _native.TAP_MISSING
        distrusted = _folder.distrust(path)
        if distrusted:
            raise NotOurs(distrusted)
    else:
        path, key = pathlib.Path(wish).absolute(), _key.key_of(torch)  # without a folder the loader would search its own
    library = load(path, key)
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    if library.memsnap_tap_attach(message, ctypes.c_size_t(_MESSAGE_BYTES)) != 0:
        raise NotOurs(message.value.decode(errors="replace").partition("\n")[0])
    return _native.TAP_ATTACHED


def _attach_now() -> None:
    """Never raises: torch would make the program's own first use of CUDA fail with it."""
    process = os.getpid()
    if process in _done:
        return
    state = _native.TAP_REFUSED
    try:
        state = _attach_to(sys.modules["torch"])
    except (_key.Unsuitable, NotOurs, OSError) as problem:
        _say(problem)
    except Exception as problem:
        _say(f"{type(problem).__name__}: {problem}")
    _done[process] = state == _native.TAP_ATTACHED
    _native.tap_state(state)


def when_cuda_starts() -> bool:
    """Attaches, now or then; whether it is done by now."""
    torch = sys.modules.get("torch")
    if not _native.active or torch is None:
        return False
    if _wish() == "off":
        _native.tap_state(_native.TAP_OFF)
        return False
    if os.getpid() not in _done and torch.version.cuda is not None:
        torch.cuda._lazy_call(_attach_now)
    return _done.get(os.getpid(), False)
