# SPDX-License-Identifier: Apache-2.0
"""The command line `memsnap`, also as `python -m memsnap`. The rule: what a command prints is written, or its exit code says that it was not."""

import os
import sys

from . import __version__
from ._commands import COMMANDS, make_parser


_UNWRITTEN, _INTERRUPTED, _NOBODY_READS = 5, 130, 141  # exit codes; the last two as shells give for SIGINT and SIGPIPE


def _main(arguments) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    names = {command.name for command in COMMANDS}
    asked = next((argument for argument in arguments if argument in names), "")
    parser = make_parser(__version__, asked)
    try:
        options = parser.parse_args(arguments)
    finally:  # it exits after --help and --version
        sys.stdout.flush()
    if options.subcommand is None:
        parser.print_usage(sys.stderr)
        return 2
    code = options.function(options)
    sys.stdout.flush()
    return code


def _forget_output() -> None:
    """What is still to be written goes nowhere, so that the interpreter does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments=None) -> int:
    if sys.stdout is None:  # closed: where print() says nothing, this refuses
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return _NOBODY_READS
    except OSError as error:
        if error.filename is not None:
            raise
        _forget_output()
        print(f"memsnap: cannot write to standard output: {error.strerror}", file=sys.stderr)
        return _UNWRITTEN


if __name__ == "__main__":
    sys.exit(main())
