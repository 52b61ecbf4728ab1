# SPDX-License-Identifier: Apache-2.0
"""The phases that the program itself has open on a thread. What hooks label lies inside them and keeps their name in front, so that
"evaluation" is not hidden by the modules that run in it."""

import threading


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (handle, name), innermost last


_thread = _Thread()


def opened(handle: int, name: bytes) -> None:
    _thread.open.append((handle, name))


def closed(handle: int) -> None:
    """Phases may be closed out of order."""
    phases = _thread.open
    for index in reversed(range(len(phases))):
        if phases[index][0] == handle:
            del phases[index]
            return


def inside_own(label: bytes) -> bytes:
    """A hook's label, behind the innermost phase of the program."""
    phases = _thread.open
    return phases[-1][1] + b"/" + label if phases else label
