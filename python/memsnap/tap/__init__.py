# SPDX-License-Identifier: Apache-2.0
"""The torch tap: the caching allocator's own trace, for the recorder. A small library that `memsnap tap build` compiles against the torch
of this machine tells requested sizes, streams, pools and deferred frees (docs/tap.md).

`memsnap run` attaches it by itself; a program that is preloaded in another way calls attach(). Nothing is ever built while a job runs.
"""

__all__ = ["attach"]


def attach() -> bool:
    """Attaches the tap as soon as torch initialises CUDA, at once when it has; whether it is attached by now. Call it after `import torch`.
    Without the recorder, without a tap that was built for this torch, or with MEMSNAP_TAP=off it does nothing."""
    from . import _attach  # with what only a job that calls this needs

    return _attach.when_cuda_starts()
