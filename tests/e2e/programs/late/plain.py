# SPDX-License-Identifier: Apache-2.0
"""A job that keeps some tensors, frees others, and says what is live."""

import os

import torch

kept = [torch.empty(1 << 20, device="cuda") for _ in range(5)]
del kept[::2]
print("live", torch.cuda.memory_allocated())
os.sys.stdout.flush()
os._exit(0)
