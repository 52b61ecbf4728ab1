# SPDX-License-Identifier: Apache-2.0
"""Tells the memsnap recorder what a program is doing. Without the recorder (not preloaded) everything here does nothing.

step, step_scope, phase, mark, note: where the program is. categorize, activations: what its blocks hold. recording: whether there is a
recording. docs/package.md has the meaning of each. Plain Python 3.9, no dependency; torch is never imported from here.
"""

from ._categories import activations, categorize
from ._garbage import watch as _watch_garbage
from ._marks import mark, note, phase, recording, step, step_scope

__all__ = ["activations", "categorize", "mark", "note", "phase", "recording", "step", "step_scope"]
__version__ = "0.1.0"

_watch_garbage()
