# SPDX-License-Identifier: Apache-2.0
"""PyTorch's memory history while somebody wants it, and the observer of its out-of-memory errors. A history that the program itself has
switched on, or touches later, is the program's: it is never switched off here.

Everything happens after PyTorch has initialised CUDA, in the process that has: before that the allocator loses what it is told, and a forked
child must not ask. Nothing here initialises CUDA, and nothing raises.
"""

import inspect
import os

from ._import_hook import after_import


class Unsupported(Exception):
    """Why there is no history, in words for the user."""


def _torch():
    import torch

    return torch


def _check(torch) -> None:
    if getattr(torch.version, "cuda", None) is None and getattr(torch.version, "hip", None) is None:
        raise Unsupported("this PyTorch is built without CUDA")
    functions = ("_cuda_attach_out_of_memory_observer", "_cuda_isHistoryEnabled", "_cuda_record_memory_history")
    record = getattr(torch.cuda.memory, "_record_memory_history", None)
    if record is None or any(not hasattr(torch._C, name) for name in functions) or "max_entries" not in inspect.signature(record).parameters:
        raise Unsupported(f"PyTorch {torch.__version__} keeps no history that can be bounded; 2.1 and later do")


def _check_backend(torch) -> None:
    backend = getattr(torch.cuda, "get_allocator_backend", torch.cuda.memory.get_allocator_backend)()
    if backend != "native":
        raise Unsupported(f"PyTorch's allocator backend {backend} keeps no history")


class History:
    """One a process. `on_oom(device, request_bytes, limit_bytes, device_free_bytes)` is called at each out-of-memory error, wanted or not, since
    an observer cannot be detached; `say(reason)` when there is none to be had."""

    def __init__(self, on_oom, say):
        self._on_oom = on_oom
        self._say = say
        self._wanted = None
        self._queued = False
        self._observed_by = None  # a process id
        self._recorded = {}  # by process id, while the history is ours: puts PyTorch's own function back

    def want(self, options: dict) -> None:
        """Records from now on, or from CUDA's initialisation on."""
        self._wanted = options
        if not self._queued:
            self._queued = True
            after_import("torch", self._when_initialised)
        elif self._observed_by is not None:
            self._begin()

    def unwant(self) -> None:
        self._wanted = None
        let_go = self._recorded.pop(os.getpid(), None)
        if let_go is None:
            return
        try:
            torch = _torch()
            if let_go():
                torch.cuda.memory._record_memory_history(None)
        except Exception as error:
            self._say(f"PyTorch's history could not be switched off ({error})")

    def _when_initialised(self) -> None:
        try:
            torch = _torch()
            _check(torch)
            torch.cuda._lazy_call(self._begin)
        except Unsupported as reason:
            self._say(str(reason))
        except Exception as error:
            self._say(f"this PyTorch is not as expected ({type(error).__name__}: {error})")

    def _begin(self) -> None:
        try:
            self._begin_in(_torch())
        except Unsupported as reason:
            self._say(str(reason))
        except Exception as error:
            self._say(f"PyTorch refuses ({type(error).__name__}: {error})")

    def _begin_in(self, torch) -> None:
        if self._observed_by is None:
            _check_backend(torch)
            torch._C._cuda_attach_out_of_memory_observer(self._on_oom)
            self._observed_by = os.getpid()
        options = self._wanted
        if options is None or self._observed_by != os.getpid() or torch._C._cuda_isHistoryEnabled():
            return
        torch.cuda.memory._record_memory_history("all", **options)
        self._recorded[os.getpid()] = self._watch(torch)
        # No lock is held here: a thread that initialises CUDA comes with PyTorch's, and unwant() may wait for that one. So an unwant() of
        # another thread may have come too early to find a history.
        if self._wanted is None:
            self.unwant()

    def _watch(self, torch):
        """Whoever calls PyTorch's function from now on takes the history over. Returns what puts the function back, and is false when somebody
        else has put one there."""
        original = torch._C._cuda_record_memory_history

        def touched(*arguments, **options):
            self._recorded.pop(os.getpid(), None)
            let_go()
            return original(*arguments, **options)

        def let_go() -> bool:
            if torch._C._cuda_record_memory_history is not touched:
                return False
            torch._C._cuda_record_memory_history = original
            return True

        torch._C._cuda_record_memory_history = touched
        return let_go


def total_bytes(device: int) -> int:
    return _torch().cuda.mem_get_info(device)[1]


def snapshot() -> dict:
    return _torch().cuda.memory._snapshot()
