# SPDX-License-Identifier: Apache-2.0
"""What `memsnap run` hooks in torch when a program imports it: module calls, the backward pass, optimizer steps, data loading, the
memory fraction and the allocator's trace. Each hook closes what it opened, whatever happens inside, and passes everything through unchanged.
"""

import functools
import gc
import os
import threading

import torch

from . import _native, tap
from ._compiled import leave_frames_alone, torchs_is_compiling
from ._module_calls import make_ranges
from ._own_phase import inside_own

_is_compiling = torchs_is_compiling()


def _collection_off(family: int) -> int:
    """What the step that an optimizer's range ends says of Python's cyclic collection."""
    return int(family == _native.OPTIMIZER and not gc.isenabled())


class _Thread(threading.local):
    inside = False


def _in_range(function, name: bytes, family: int, thread: _Thread):
    """A function whose outermost call of each thread is a range, whether it ends a step (an optimizer's) or only has a name. Functions with
    one `thread` are one in this."""

    @functools.wraps(function)
    def wrapper(*arguments, **options):
        if _is_compiling() or thread.inside:
            return function(*arguments, **options)
        handle = 0
        try:
            thread.inside = True
            named = inside_own(name)
            handle = _native.begin(family, named, len(named), _collection_off(family))
            return function(*arguments, **options)
        finally:
            thread.inside = False
            _native.end(handle)

    leave_frames_alone(wrapper)
    return wrapper


def _hook_backward() -> None:
    """Tensor.backward goes through it."""
    torch.autograd.backward = _in_range(torch.autograd.backward, b"backward", _native.LABEL, _Thread())


def _hook_optimizers() -> None:
    """Torch passes the step of each class of optimizers through this function once. Its hooks after a step would not do: after an exception
    they are not called, and the range would stay open."""
    make_step = torch.optim.Optimizer.profile_hook_step
    # A class whose step calls its parent's takes one step.
    in_one_range = functools.partial(_in_range, name=b"optimizer", family=_native.OPTIMIZER, thread=_Thread())

    @functools.wraps(make_step)
    def profile_hook_step(*arguments):
        *self, step = arguments  # a plain function in old releases is a method
        return make_step(*self, in_one_range(step))

    torch.optim.Optimizer.profile_hook_step = staticmethod(profile_hook_step)


def _hook_data_loading() -> None:
    from torch.utils.data import dataloader

    iterator = dataloader._BaseDataLoaderIter
    iterator.__next__ = _in_range(iterator.__next__, b"data", _native.LABEL, _Thread())


def _hook_memory_fraction() -> None:
    """The limit as the allocator computes it. Whoever set a fraction has started CUDA, so the card's size costs no context. Where it does not
    cache it does not keep to the limit."""
    if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:
        return
    original = torch.cuda.set_per_process_memory_fraction

    @functools.wraps(original)
    def set_per_process_memory_fraction(fraction, device=None):
        result = original(fraction, device)
        try:
            index = torch.cuda._utils._get_device_index(device, optional=True)
            total_bytes = torch.cuda.get_device_properties(index).total_memory
            _native.cap(index, int(fraction * total_bytes), _native.CAP_MEMORY_FRACTION)
        except (AttributeError, RuntimeError):
            pass
        return result

    torch.cuda.set_per_process_memory_fraction = set_per_process_memory_fraction
    torch.cuda.memory.set_per_process_memory_fraction = set_per_process_memory_fraction


def _hook_tap() -> None:
    tap.attach()


def install() -> list:
    """Installs every hook that this release of torch has a place for; returns what had none, in words."""
    missing = []
    for hook in (make_ranges, _hook_backward, _hook_optimizers, _hook_data_loading, _hook_memory_fraction, _hook_tap):
        try:
            hook()
        except (AttributeError, ImportError, TypeError) as error:
            missing.append(f"{hook.__name__.strip('_')}: {error}")
    return missing
