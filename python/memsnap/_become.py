# SPDX-License-Identifier: Apache-2.0
"""This process becomes another program. The rule: it starts with the signals that this one was started with; Python ignores some that others end by."""

from __future__ import annotations

import os
import signal

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def become(command: list, environment) -> None:
    """Looks for the command as a shell does. Returns only by an exception, OSError or ValueError."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in _IGNORED_BY_PYTHON}
    try:
        os.execvpe(command[0], command, environment)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
