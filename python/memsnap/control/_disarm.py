# SPDX-License-Identifier: Apache-2.0
"""`memsnap disarm`: lets jobs stop recording; what they recorded stays, and can be read at once."""

from __future__ import annotations

import argparse

from . import _command, _header


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _command.add_asking(parser)
    states = parser.add_mutually_exclusive_group()
    states.add_argument("--cold", dest="wish", action="store_const", const=_header.COLD, help="to keep nothing, also where the job was started in standby")
    states.add_argument("--standby", dest="wish", action="store_const", const=_header.STANDBY, help="to keep the live table on, where the job was started in standby")
    parser.set_defaults(wish=_header.DISARM)


def run(options: argparse.Namespace) -> int:
    return _command.ask_and_say(options, options.wish, 0, "disarmed")
