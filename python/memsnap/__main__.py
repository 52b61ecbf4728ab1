# SPDX-License-Identifier: Apache-2.0
"""The command line `memsnap`, also as `python -m memsnap`."""

import os
import sys

from . import __version__
from ._commands import COMMANDS, make_parser


_INTERRUPTED, _NOBODY_READS = 130, 141  # exit codes, as shells give for SIGINT and SIGPIPE


def _main(arguments) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    names = {command.name for command in COMMANDS}
    asked = next((argument for argument in arguments if argument in names), "")
    parser = make_parser(__version__, asked)
    options = parser.parse_args(arguments)
    if options.subcommand is None:
        parser.print_usage(sys.stderr)
        return 2
    code = options.function(options)
    print(end="", flush=True)
    return code


def main(arguments=None) -> int:
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # what is still to be written goes nowhere, so that the interpreter does not fail on it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _NOBODY_READS


if __name__ == "__main__":
    sys.exit(main())
