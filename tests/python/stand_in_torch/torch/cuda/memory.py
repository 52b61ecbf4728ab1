# SPDX-License-Identifier: Apache-2.0
import os

import torch

traces = [[{"action": "alloc", "addr": 1, "size": 512, "frames": []}], []]


def get_allocator_backend():
    return os.environ.get("TORCH_BACKEND", "native")


if torch.__version__.startswith("2.0"):

    def _record_memory_history(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False):
        print("history of 2.0")

elif torch.__version__.startswith("2.1."):

    def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=2**63 - 1, device=None):
        torch._C._cuda_record_memory_history(enabled, context, stacks, max_entries)

else:

    def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=2**63 - 1, device=None, clear_history=False, skip_actions=None):
        torch._C._cuda_record_memory_history(enabled, context, stacks, max_entries, clear_history)


def _snapshot():
    if torch._state.failures > 1 and os.environ.get("TORCH_SNAPSHOT") == "fails":
        raise MemoryError("no memory for the snapshot")
    return {"segments": [], "device_traces": traces}
