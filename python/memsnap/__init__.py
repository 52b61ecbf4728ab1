# SPDX-License-Identifier: Apache-2.0
"""Tells the memsnap recorder what a program is doing. Without the recorder (not preloaded) everything here but autopsy does nothing.

step, step_scope, phase, mark, note: where the program is. categorize, activations: what its blocks hold. recording: whether there is a
recording. autopsy: PyTorch's own snapshot at an out-of-memory error, for jobs without the recorder. docs/package.md has the meaning of each.
Plain Python 3.9, no dependency; torch is never imported before the program does.
"""

from . import tap
from ._autopsy import autopsy
from ._categories import activations, categorize
from ._garbage import watch as _watch_garbage
from ._marks import mark, note, phase, recording, step, step_scope

__all__ = ["activations", "autopsy", "categorize", "mark", "note", "phase", "recording", "step", "step_scope", "tap"]
__version__ = "0.1.0"

_watch_garbage()
