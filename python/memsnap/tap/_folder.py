# SPDX-License-Identifier: Apache-2.0
"""The folder of the built taps. The rules: it is its user's alone, since code is loaded from it; a file in it is whole or not there."""

import contextlib
import fcntl
import os
import pathlib
import stat
import tempfile

_NAMES = "tap-*.so"
_UNFINISHED = ".building-"


def folder() -> pathlib.Path:
    named = os.environ.get("MEMSNAP_TAP_DIR")
    if named:
        return pathlib.Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(cache) if cache and os.path.isabs(cache) else pathlib.Path("~/.cache").expanduser()) / "memsnap/tap"


def taps() -> list:
    try:
        return sorted(folder().glob(_NAMES))
    except OSError:
        return []


def distrust(path: pathlib.Path) -> str:
    """Why a file of the folder is not to be loaded; empty when it may be: nobody else could have put it there."""
    for place in (path.parent, path):
        status = place.stat()
        if status.st_uid not in (os.getuid(), 0):
            return f"{place} belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write to {place}"
    return ""


@contextlib.contextmanager
def locked():
    """The folder, made if needed, with no other build or removal going on."""
    place = folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(place / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


def clear() -> int:
    """Removes every tap, and what killed builds left; how many taps there were."""
    if not folder().is_dir():
        return 0
    with locked() as place:
        found = taps()
        for path in [*found, *place.glob(_UNFINISHED + "*")]:
            path.unlink(missing_ok=True)
    return len(found)


@contextlib.contextmanager
def appearing(path: pathlib.Path):
    """A name to write to; what is there when the block ends becomes `path` at once, and after an exception nothing is left of it."""
    handle, temporary = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o700)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
