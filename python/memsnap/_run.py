# SPDX-License-Identifier: Apache-2.0
"""`memsnap run`: becomes the given command, recorded. The process, its signals and its exit code are the command's own."""

import argparse
import os
import pathlib
import shutil
import sys

from . import _tools
from ._become import become

_PACKAGE = pathlib.Path(__file__).resolve().parent
_SITE = _PACKAGE / "site"

# (option, variable, what its help says it takes, help)
_VALUES = (
    ("--out", "MEMSNAP_OUT", "FILE", "the recording's file, a template such as rank-%%r.bin"),
    ("--stack", "MEMSNAP_STACK", "KIND", "auto, python, native, both or off: which frames a site is made of"),
    ("--depth", "MEMSNAP_DEPTH", "COUNT", "most frames of each kind"),
    ("--ring-mb", "MEMSNAP_RING_MB", "MIB", "size of the ring"),
    ("--table-entries", "MEMSNAP_TABLE_ENTRIES", "COUNT", "most objects that are live at once"),
    ("--sample-ms", "MEMSNAP_SAMPLE_MS", "MS", "time between two samples of a device, 0 for none"),
    ("--keep", "MEMSNAP_KEEP", "WHAT", "always or incident: whether a clean exit gives unused parts of the file back"),
    ("--tap", "MEMSNAP_TAP", "WHAT", "auto, off, or a tap's path: whether the torch tap that `memsnap tap build` made is attached"),
)
_SWITCHES = (
    ("--no-names", "MEMSNAP_NAMES", "0", "write no file of names"),
    ("--quiet", "MEMSNAP_QUIET", "1", "never write to stderr"),
)


_NUMBERS = ("COUNT", "MIB", "MS")


def _number(text: str) -> str:
    """As it was written: the recorder would take nonsense for its default."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return text


def add_settings(parser: argparse.ArgumentParser, left_out: tuple = ()) -> None:
    """The recorder's settings as options, but for those `left_out`."""
    for option, variable, metavar, text in _VALUES:
        kind = _number if metavar in _NUMBERS else str
        if option not in left_out:
            parser.add_argument(option, dest=variable, metavar=metavar, type=kind, help=f"{text} ({variable})")
    for option, variable, value, text in _SWITCHES:
        parser.add_argument(option, dest=variable, action="store_const", const=value, help=f"{text} ({variable}={value})")


def settings(options: argparse.Namespace) -> dict:
    """The settings that were given, by variable."""
    variables = [row[1] for row in (*_VALUES, *_SWITCHES)]
    return {variable: value for variable in variables if (value := getattr(options, variable, None)) is not None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument("--no-hooks", action="store_true", help="only preload the recorder: no phases, steps and module names from torch")
    parser.add_argument("--library", metavar="FILE", help=f"the recorder (MEMSNAP_LIBRARY; else {_tools.RECORDER} beside this package, in the build tree, or where ldconfig knows it)")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments, after --")


def _usage(message: str) -> int:
    print(f"memsnap run: {message}", file=sys.stderr)
    return 2


def _joined(*parts: str, separator: str = ":") -> str:
    """Without empty parts and repetitions."""
    return separator.join(dict.fromkeys(part for part in parts if part))


def environment(options: argparse.Namespace, inherited: dict) -> dict:
    """What the command runs in: what was inherited, and the recorder in it."""
    made = inherited | settings(options)
    try:
        library = _tools.find(_tools.RECORDER, options.library or inherited.get("MEMSNAP_LIBRARY"))
    except _tools.Missing as missing:
        sys.exit(_usage(f"{missing} (or --library)"))
    if any(character in library for character in ": \t\n"):
        sys.exit(_usage(f"the loader takes no path with a colon or white space: {library}"))
    # In front: what a library with CUDA's own functions before it answers, it does not see.
    made["LD_PRELOAD"] = _joined(library, *inherited.get("LD_PRELOAD", "").replace(" ", ":").split(":"))
    if not options.no_hooks:
        if ":" in str(_SITE):
            sys.exit(_usage(f"PYTHONPATH takes no path with a colon: {_SITE}"))
        set_path = inherited.get("PYTHONPATH")
        made["PYTHONPATH"] = f"{_SITE}:{set_path}" if set_path and str(_SITE) not in set_path.split(":") else set_path or str(_SITE)
    return made


def _with_interpreter(command: list) -> list:
    """A script that is no command of its own is run by this Python."""
    first = command[0]
    if first.endswith(".py") and os.path.isfile(first) and shutil.which(first) is None:
        return [sys.executable, *command]
    return command


def run(options: argparse.Namespace) -> int:
    """Returns only when the command could not be started."""
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command or not command[0]:
        return _usage("no command: memsnap run [options] -- python train.py")
    made = environment(options, dict(os.environ))
    command = _with_interpreter(command)
    sys.stdout.flush()
    try:
        become(command, made)
    except FileNotFoundError:
        print(f"memsnap run: {command[0]}: command not found", file=sys.stderr)
        return 127
    except (OSError, ValueError) as error:
        print(f"memsnap run: {command[0]}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 126
