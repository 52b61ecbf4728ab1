# SPDX-License-Identifier: Apache-2.0
"""For jobs that were not preloaded: PyTorch's own bounded history while an autopsy is armed, and at an out-of-memory error a snapshot, written
before anything unwinds. Nothing here changes the error, and whatever goes wrong is said once and costs no more than the snapshot.
"""

import atexit
import contextlib
import functools
import inspect
import os
import shlex
import sys
import threading

from . import _snapshot_file
from ._compiled import breaks_the_graph
from ._history import History, snapshot, total_bytes

_CONTEXTS = (None, "state", "alloc", "all")
_STACKS = ("python", "all")
_said = set()


def _say(text: str, once: bool = True) -> None:
    if os.environ.get("MEMSNAP_QUIET") == "1" or (once and text in _said):
        return
    _said.add(text)
    with contextlib.suppress(Exception):
        print(f"memsnap: {text}", file=sys.stderr, flush=True)


def _positive(name: str, value) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} is {value}; it is at least 1")
    return value


def _one_of(name: str, value, words):
    if value not in words:
        raise ValueError(f"{name} is {value!r}; it is one of {', '.join(map(repr, words))}")
    return value


class _Armed(threading.local):
    """Of the calling thread: whether it writes a snapshot right now."""

    writing = False


_thread = _Armed()
_armed = []  # autopsies, the one armed last at the end; one may be there several times
_arming = threading.RLock()
_lock = threading.Lock()  # one snapshot at a time


def _place(depth_limit: int = 200):
    """Where the program asked for memory: the innermost frame that is neither torch's nor ours; None on a thread without one."""
    frame = sys._getframe(1)
    while frame is not None and depth_limit:
        name = str(frame.f_globals.get("__name__") or "")
        if name.partition(".")[0] not in ("torch", __package__):
            return frame.f_code.co_filename, frame.f_lineno
        frame, depth_limit = frame.f_back, depth_limit - 1
    return None


def _observations(traces) -> list:
    """The device's answer at each failure that the history still has. PyTorch wrote its free bytes into the entry; the total never changes."""
    found = []
    for device, trace in enumerate(traces):
        failures = [(index, entry["device_free"]) for index, entry in enumerate(trace) if entry["action"] == "oom" and "device_free" in entry]
        if failures:
            total = total_bytes(device)
            found += [{"device": device, "before_entry": index, "total_bytes": total, "free_bytes": free} for index, free in failures]
    return found


def _write(owner: "autopsy", device: int) -> None:
    data = snapshot()
    try:
        data["memsnap"] = {"version": 1, "observations": _observations(data["device_traces"])}
    except Exception as error:
        _say(f"the snapshot does not tell the card's size ({type(error).__name__}: {error})")
    path = _snapshot_file.write(data, _snapshot_file.expand(owner._path))
    if not owner._quiet:
        _say(f"out of memory on cuda:{device}: snapshot in {path}; read it with: memsnap-replay {shlex.quote(path)}", once=False)


def _on_oom(device, request_bytes, _limit_bytes, device_free_bytes) -> None:
    """On the failing thread, with PyTorch's error not yet raised: an exception from here would take its place, so none but those that are no
    errors (an interrupt) gets out."""
    if _thread.writing:
        return
    _thread.writing = True
    try:
        with _lock:
            owner = next(reversed(_armed), None)
            if owner is not None and owner._takes((device, request_bytes, device_free_bytes, _place())):
                _write(owner, device)
    except Exception as error:
        _say(f"out of memory on cuda:{device}, but no snapshot ({type(error).__name__}: {error})")
    finally:
        _thread.writing = False


_history = History(_on_oom, lambda reason: _say(f"no autopsy: {reason}"))


@breaks_the_graph
def _arm(one: "autopsy") -> None:
    with _arming:
        _armed.append(one)
        if len(_armed) == 1:
            _history.want(one._options)


@breaks_the_graph
def _disarm(one: "autopsy") -> None:
    with _arming:
        for index in reversed(range(len(_armed))):
            if _armed[index] is one:
                del _armed[index]
                break
        if not _armed:
            _history.unwant()


class autopsy:
    """`with autopsy("oom.pickle"): …`, a decorator, or `autopsy.install()` for the rest of the process.

    While one is armed PyTorch keeps its last `max_entries` memory events, and an out-of-memory error of any thread leaves a snapshot, caught or
    not. Of nested ones the innermost says where it goes, the outermost what is kept."""

    def __init__(self, path="oom-%p.pickle", *, limit=4, max_entries=100_000, context="all", stacks="python", quiet=False):
        """`limit`: most snapshots of this autopsy in a process. `context` and `stacks` as in torch.cuda.memory._record_memory_history."""
        self._path = os.path.abspath(os.fsdecode(path))
        self._limit = _positive("limit", limit)
        self._options = {
            "max_entries": _positive("max_entries", max_entries),
            "context": _one_of("context", context, _CONTEXTS),
            "stacks": _one_of("stacks", stacks, _STACKS),
        }
        self._quiet = bool(quiet)
        self._process = os.getpid()
        self._forget()

    def _forget(self) -> None:
        self._last_failure, self._failure_count = None, 0

    def __enter__(self):
        _arm(self)
        return self

    def __exit__(self, *_error):
        _disarm(self)

    def __call__(self, function):
        if inspect.isclass(function) or not callable(function):
            raise TypeError(f"an autopsy decorates a function, not {type(function).__name__}")
        if inspect.isasyncgenfunction(function):
            raise TypeError("an autopsy does not decorate an asynchronous generator: write `with autopsy(…):` in it")
        if inspect.iscoroutinefunction(function):

            async def wrapper(*arguments, **options):
                with self:
                    return await function(*arguments, **options)

        elif inspect.isgeneratorfunction(function):

            def wrapper(*arguments, **options):
                with self:
                    return (yield from function(*arguments, **options))

        else:

            def wrapper(*arguments, **options):
                with self:
                    return function(*arguments, **options)

        return functools.wraps(function)(wrapper)

    def _takes(self, failure) -> bool:
        """Whether this failure gets a snapshot: not one that repeats the last (somebody tries again), nor beyond the limit."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._forget()
        if self._last_failure == failure:
            return False
        self._last_failure = failure
        self._failure_count += 1
        if self._failure_count == self._limit + 1:
            _say(f"more than {self._limit} out-of-memory errors: no further snapshot in {self._path}")
        return self._failure_count <= self._limit

    @staticmethod
    def install(path="oom-%p.pickle", **options) -> None:
        """Armed until uninstall() or the end of the process; a second one takes the place of the first."""
        global _installed
        one = autopsy(path, **options)
        autopsy.uninstall()
        _installed = one
        _arm(one)

    @staticmethod
    def uninstall() -> None:
        global _installed
        one, _installed = _installed, None
        if one is not None:
            _disarm(one)


_installed = None


@atexit.register
def _disarm_all() -> None:
    _armed.clear()
    _history.unwant()


def _in_child() -> None:
    """No other thread of the parent is here, whatever it held."""
    global _arming, _lock
    _arming, _lock = threading.RLock(), threading.Lock()
    _thread.writing = False


os.register_at_fork(after_in_child=_in_child)
