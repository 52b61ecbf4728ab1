# SPDX-License-Identifier: Apache-2.0
"""`memsnap detach`: an attached job records no more, and its calls go where they went before. No debugger: it is asked as `disarm` asks."""

from __future__ import annotations

import argparse

from ..control import _command, _header


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _command.add_asking(parser)


def _why_not(header: _header.Header) -> str | None:
    if header.channel in (_header.PRELOADED, _header.INJECTED):
        return "it was started with the recorder: memsnap disarm lets it stop recording"
    return None


def run(options: argparse.Namespace) -> int:
    return _command.ask_and_say(options, _header.DETACH, 0, "detached", _why_not)
