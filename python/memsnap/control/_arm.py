# SPDX-License-Identifier: Apache-2.0
"""`memsnap arm`: lets dormant jobs record, for a time or for good."""

from __future__ import annotations

import argparse
import time

from . import _command, _header


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _command.add_asking(parser)
    parser.add_argument("--for", dest="time_s", metavar="TIME", type=_command.duration_s, help="disarm themselves after that time: 90s, 5m, 2h")


def _why_not(header: _header.Header) -> str | None:
    return f"it was detached: memsnap attach {header.pid}" if header.channel == _header.DETACHED else None


def run(options: argparse.Namespace) -> int:
    until_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(options.time_s * 1e9) if options.time_s else 0
    return _command.ask_and_say(options, _header.RECORD, until_ns, "armed", _why_not)
