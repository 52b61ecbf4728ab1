# SPDX-License-Identifier: Apache-2.0
"""What a program says of itself: steps, phases, marks and dimensions. Wrong arguments raise, recorded or not; nothing else does."""

import functools
import gc
import inspect
import operator
from threading import get_ident

from . import _native
from ._compiled import breaks_the_graph
from ._own_phase import closed, opened
from ._resumed import resumed_async_generator_function, resumed_awaitable, resumed_generator

_LEAST, _GREATEST = -(2**63), 2**63 - 1


class _EndedStep:
    """What step() returns. It cannot be a context: the step had ended before one could be entered."""

    def __enter__(self):
        raise TypeError("step() ends a step where it is called; write `with memsnap.step_scope():` for a step that ends with the block")

    def __exit__(self, *_error):
        return None

    def __repr__(self):
        return "<a step ended>"


_ENDED = _EndedStep()


@breaks_the_graph
def _end_step(name: bytes) -> None:
    _native.step(name, len(name), 0 if gc.isenabled() else _native.STEP_COLLECTION_OFF)


def step(name=None):
    """A step ends here. Call it at the same point of each one, for example at the end of the loop's body."""
    _end_step(b"" if name is None else _native.text(name))
    return _ENDED


class step_scope:
    """`with step_scope(): …` is one step, which ends with the block. An exception that leaves the block ends no step: it was not finished."""

    def __init__(self, name=None):
        self._name = b"" if name is None else _native.text(name)

    def __enter__(self):
        return self

    def __exit__(self, kind, _error, _traceback):
        if kind is None:
            _end_step(self._name)


@breaks_the_graph
def _begin(name: bytes, family: int) -> int:
    handle = _native.begin(family, name, len(name), 0)
    if handle:
        opened(handle, name)
    return handle


@breaks_the_graph
def _end(handle: int) -> None:
    closed(handle)
    _native.end(handle)


class phase:
    """A range of the calling thread: `with phase("backward"): …`, or a decorator.

    A decorated generator's phase is open while its own code runs, and closed while it is suspended; so is a coroutine's, and that of an
    asynchronous generator, whose ranges are labels only (no boundary ends where it happens to wait).
    """

    def __init__(self, name):
        self._name = _native.text(name)
        self._open = {}  # by thread: handles, innermost last

    def __enter__(self):
        self._open.setdefault(get_ident(), []).append(_begin(self._name, _native.RANGE))
        return self

    def __exit__(self, *_error):
        handles = self._open.get(get_ident())
        if handles:
            _end(handles.pop())

    def __call__(self, function):
        if inspect.isclass(function) or not callable(function):
            raise TypeError(f"a phase decorates a function, not {type(function).__name__}")
        name = self._name

        def opener(family):
            return lambda: _begin(name, family)

        if inspect.isasyncgenfunction(function):
            wrapper = resumed_async_generator_function(function, opener(_native.LABEL), _end)

        elif inspect.iscoroutinefunction(function):

            async def wrapper(*arguments, **options):
                return await resumed_awaitable(function(*arguments, **options), opener(_native.LABEL), _end)

        elif inspect.isgeneratorfunction(function):

            def wrapper(*arguments, **options):
                return (yield from resumed_generator(function(*arguments, **options), opener(_native.RANGE), _end))

        else:

            def wrapper(*arguments, **options):
                handle = _begin(name, _native.RANGE)
                try:
                    return function(*arguments, **options)
                finally:
                    _end(handle)

        return functools.wraps(function)(wrapper)


@breaks_the_graph
def mark(name) -> None:
    """Writes a point with a name."""
    encoded = _native.text(name)
    _native.mark(encoded, len(encoded))


@breaks_the_graph
def note(**dimensions) -> None:
    """The dimensions of what follows, until noted anew: note(batch=32, sequence=2048). Integers of 64 bits; steps with different ones are
    not compared."""
    told = []
    for name, value in dimensions.items():
        number = operator.index(value)
        if not _LEAST <= number <= _GREATEST:
            raise OverflowError(f"{name} is not an integer of 64 bits")
        told.append((_native.text(name), number))
    for encoded, number in told:
        _native.note(encoded, len(encoded), number)


@breaks_the_graph
def recording() -> bool:
    """Whether this process has a recording by now: the recorder is there, and the GPU's memory was used."""
    return bool(_native.recording())
