# SPDX-License-Identifier: Apache-2.0
"""A stand-in for PyTorch as far as an autopsy sees it: what is called is printed, and oom() fails as the allocator does. The variable TORCH
names the release that it is like; MEMSNAP knows nothing of it."""

import os
import types

__version__ = os.environ.get("TORCH", "2.14.1")
version = types.SimpleNamespace(cuda=os.environ.get("TORCH_CUDA", "13.0") or None, hip=None)


class OutOfMemoryError(RuntimeError):
    pass


_state = types.SimpleNamespace(initialised=False, history=False, observers=[], failures=0)


def _needs_cuda():
    assert _state.initialised, "PyTorch would crash here, or lose what it is told"


class _C:
    @staticmethod
    def _cuda_attach_out_of_memory_observer(observer):
        _needs_cuda()
        print("observer")
        _state.observers.append(observer)

    @staticmethod
    def _cuda_isHistoryEnabled():
        _needs_cuda()
        return _state.history

    @staticmethod
    def _cuda_record_memory_history(enabled, *arguments):
        cuda.init()
        _state.history = enabled is not None
        print("history", enabled, *arguments)


from . import cuda  # noqa: E402


def oom(request_bytes=1 << 40, device=0, free_bytes=512):
    """What a failing allocation does; the observers run before the exception is there."""
    cuda.init()
    _state.failures += 1
    cuda.memory.traces[device].append({"action": "oom", "device_free": free_bytes, "size": request_bytes, "frames": []})
    for observer in _state.observers:
        observer(device, request_bytes, 1 << 20, free_bytes)
    raise OutOfMemoryError("CUDA out of memory")
