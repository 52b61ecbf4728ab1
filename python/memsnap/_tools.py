# SPDX-License-Identifier: Apache-2.0
"""Where memsnap's compiled parts are: the recorder, memsnap-replay and memsnap-oracle. The rule: what a variable names is taken or refused,
never replaced by another; else beside this package (an installed wheel), in the build tree, and then where the system knows it."""

from __future__ import annotations

import ctypes.util
import os
import pathlib
import shutil
import sys

from ._become import become

RECORDER, REPLAY, ORACLE = "libmemsnap.so", "memsnap-replay", "memsnap-oracle"

_PACKAGE = pathlib.Path(__file__).resolve().parent
_VARIABLES = {RECORDER: "MEMSNAP_LIBRARY", REPLAY: "MEMSNAP_REPLAY", ORACLE: "MEMSNAP_ORACLE"}
_BUILD_FOLDERS = {RECORDER: "interpose", REPLAY: "replay", ORACLE: "oracle"}


class Missing(Exception):
    """A compiled part is not here; the text says which and how to name it."""


def _candidates(name: str):
    if name == RECORDER:
        yield _PACKAGE / name
    else:
        yield _PACKAGE / "bin" / name
    yield _PACKAGE.parents[1] / "build" / _BUILD_FOLDERS[name] / name


def find(name: str, named: str | None = None) -> str:
    """The absolute path of a compiled part (a system library: its soname), `named` by the caller or found. Raises Missing."""
    variable = _VARIABLES[name]
    named = named or os.environ.get(variable)
    if named:
        if not os.path.isfile(named):
            raise Missing(f"there is no {name} at {named}")
        return os.path.abspath(named)
    for path in _candidates(name):
        if path.is_file():
            return str(path)
    known = ctypes.util.find_library("memsnap") if name == RECORDER else shutil.which(name)
    if known:
        return known
    raise Missing(f"{name} was not found: name it with {variable}")


def _become(name: str) -> int:
    """This process becomes a compiled tool with the same arguments; returns only when it could not."""
    try:
        program = find(name)
        if os.path.samefile(program, sys.argv[0]):
            raise Missing(f"the program itself is not in this installation: name it with {_VARIABLES[name]}")
        become([program, *sys.argv[1:]], os.environ)
    except Missing as missing:
        print(f"{name}: {missing}", file=sys.stderr)
        return 127
    except OSError as error:
        print(f"{name}: {program}: {error.strerror}", file=sys.stderr)
        return 126


def run_replay() -> int:
    """The command `memsnap-replay` of an installed wheel."""
    return _become(REPLAY)


def run_oracle() -> int:
    """The command `memsnap-oracle` of an installed wheel."""
    return _become(ORACLE)
