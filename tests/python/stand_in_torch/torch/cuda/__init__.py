# SPDX-License-Identifier: Apache-2.0
from .. import _state
from . import memory

_queued_calls = []


def init():
    if not _state.initialised:
        _state.initialised = True
        for call in _queued_calls:
            call()


def _lazy_call(call):
    if _state.initialised:
        call()
    else:
        _queued_calls.append(call)


def mem_get_info(device):
    return 256, 1 << 20


get_allocator_backend = memory.get_allocator_backend
