# SPDX-License-Identifier: Apache-2.0
"""The command line: `memsnap run`, `memsnap tap`, also as `python -m memsnap run`."""

import argparse
import sys

from . import __version__, _run
from .tap import _command as _tap


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="memsnap", description="Why did this GPU job run out of memory?")
    parser.add_argument("--version", action="version", version=f"memsnap {__version__}")
    commands = parser.add_subparsers(dest="subcommand", metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a program recorded",
        usage="memsnap run [options] -- program [arguments …]",
        allow_abbrev=False,
        description="Runs a program recorded, with the phases of PyTorch programs, whose source is not changed.",
    )
    _run.add_arguments(run)
    run.set_defaults(function=_run.run)
    tap = commands.add_parser(
        "tap",
        help="build, show or remove the torch tap",
        description="The torch tap tells requested sizes, streams, pools and deferred frees. It is compiled on this machine against its torch.",
    )
    _tap.add_arguments(tap)
    tap.set_defaults(function=_tap.run)
    options = parser.parse_args(arguments)
    if options.subcommand is None:
        parser.print_usage(sys.stderr)
        return 2
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
