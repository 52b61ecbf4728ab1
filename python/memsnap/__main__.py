# SPDX-License-Identifier: Apache-2.0
"""The command line `memsnap`, also as `python -m memsnap`."""

import sys

from . import __version__
from ._commands import COMMANDS, make_parser


def main(arguments=None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    names = {command.name for command in COMMANDS}
    asked = next((argument for argument in arguments if argument in names), "")
    parser = make_parser(__version__, asked)
    options = parser.parse_args(arguments)
    if options.subcommand is None:
        parser.print_usage(sys.stderr)
        return 2
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
