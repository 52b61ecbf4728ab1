# SPDX-License-Identifier: Apache-2.0
"""`memsnap tap build|status|clear`."""

import argparse
import sys

from . import _folder, _key

_UNSUITABLE, _FAILED, _OUTPUT_ERROR = 3, 4, 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="compile the tap for the torch that this Python imports (about ten seconds)")
    build.add_argument("--force", action="store_true", help="build it anew when it is there already")
    actions.add_parser("status", help="say whether this torch has its tap; exit code 1 when not")
    actions.add_parser("clear", help="remove all built taps")


def _torch():
    try:
        import torch
    except ImportError as error:
        raise _key.Unsuitable(f"it cannot be imported by {sys.executable}: {error}") from None
    return torch


def _build(options) -> int:
    from . import _build

    try:
        path, built = _build.build(_torch(), again=options.force)
    except _build.Failed as error:
        print(f"memsnap tap: {error}", file=sys.stderr)
        return _FAILED
    print(f"{'built' if built else 'there already:'} {path}")
    return 0


def _status(_options) -> int:
    torch = _torch()
    key = _key.key_of(torch)
    path = _folder.folder() / _key.file_name(torch, key)
    there = path.is_file()
    distrusted = _folder.distrust(path) if there else ""
    print(f"torch {torch.__version__}: {distrusted or path if there else 'no tap; run `memsnap tap build`'}")
    others = len([tap for tap in _folder.taps() if tap != path])
    if others:
        print(f"{others} for other versions of torch or of memsnap in {_folder.folder()}")
    return 0 if there and not distrusted else 1


def _clear(_options) -> int:
    print(f"removed {_folder.clear()}")
    return 0


def run(options: argparse.Namespace) -> int:
    try:
        return {"build": _build, "status": _status, "clear": _clear}[options.action](options)
    except _key.Unsuitable as error:
        print(f"memsnap tap: this torch has nothing to tap: {error}", file=sys.stderr)
        return _UNSUITABLE
    except _folder.Unusable as error:
        print(f"memsnap tap: {error}", file=sys.stderr)
        return _OUTPUT_ERROR
    except OSError as error:
        print(f"memsnap tap: {error.filename}: {error.strerror}", file=sys.stderr)
        return _OUTPUT_ERROR
