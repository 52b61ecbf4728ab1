# SPDX-License-Identifier: Apache-2.0
"""`memsnap top`: the jobs of this machine on a terminal, from their recordings alone. Where there is no terminal it prints one look and ends."""

from __future__ import annotations

import argparse
import codecs
import locale
import os
import shutil
import sys

from .. import _tools
from . import _lanes, _screen, _source, _text

_INTERVAL_LEAST, _INTERVAL_MOST = 0.1, 3600.0


def interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not _INTERVAL_LEAST <= seconds <= _INTERVAL_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no time from {_INTERVAL_LEAST} to {_INTERVAL_MOST:.0f} seconds")
    return seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TARGET", nargs="*", help="process ids, recordings and folders of them; without any, the processes of this user that record")
    parser.add_argument("--interval", type=interval, default=1.0, metavar="SECONDS", help="time between two looks (1)")
    parser.add_argument("--sort", choices=list(_lanes.SORTS), default="margin", help="the order of rows: least margin first, unless said")
    parser.add_argument("--sites", type=int, default=10, choices=range(0, 65), metavar="COUNT", help="most birth sites of the selected row (10)")
    parser.add_argument("--no-names", action="store_true", help="show sites by token")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII alone, as is done where the locale is not UTF-8")
    parser.add_argument("--once", action="store_true", help="print one look and end; so it is anyway where standard output is no terminal")


def _letters(options: argparse.Namespace) -> _text.Letters:
    try:
        locale.setlocale(locale.LC_ALL, "")
        utf8 = codecs.lookup(locale.nl_langinfo(locale.CODESET)).name == "utf-8"
    except (locale.Error, LookupError):
        utf8 = False
    return _text.UTF8 if utf8 and not options.ascii else _text.ASCII


def once(source: _source.Source, options: argparse.Namespace, letters: _text.Letters) -> None:
    """Prints every row, and each row's own part."""
    views = source.read()
    state = _screen.State(sort=options.sort)
    rows = _lanes.sorted_rows(_lanes.rows_of(views), state.sort)
    state.history.take(rows)
    width = max(80, shutil.get_terminal_size((120, 24)).columns)
    lines = _screen.overview(views, rows, state, width, letters)
    for row in rows:
        if not options.no_names:
            source.add_labels(row.view)
        lines += ["", *_screen.part_of(row, state, source.verdict(row.view, wait=True), width, letters)]
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("ascii" if letters is _text.ASCII else "utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def run(options: argparse.Namespace) -> int:
    letters = _letters(options)
    terminal = sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    try:
        source = _source.Source(options.targets, options.sites)
        source.look_around()
        try:
            if options.once or not terminal:
                once(source, options, letters)
                return 0
            from . import _terminal  # curses is not everywhere, and not needed for one look

            return _terminal.watch(source, options, letters)
        finally:
            source.close()
    except (_tools.Missing, _source.Unusable) as problem:
        print(f"memsnap top: {problem}", file=sys.stderr)
        return 3 if isinstance(problem, _source.Unusable) else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in buffers goes nowhere
        return 0
    except OSError as error:
        print(f"memsnap top: {error}", file=sys.stderr)
        return 5
    except KeyboardInterrupt:
        return 130
