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


class Unusable(Exception):
    """There is no folder, or it is not its user's alone: why."""


def folder() -> pathlib.Path:
    """Without links in it: what is looked at is what is used."""
    named = os.environ.get("MEMSNAP_TAP_DIR")
    if named:
        return pathlib.Path(os.path.realpath(named))
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache or not os.path.isabs(cache):
        cache = os.path.expanduser("~/.cache")
        if not os.path.isabs(cache):
            raise Unusable("this user has no home folder: name a folder for taps with MEMSNAP_TAP_DIR")
    return pathlib.Path(os.path.realpath(cache)) / "memsnap/tap"


def taps() -> list:
    try:
        return sorted(folder().glob(_NAMES))
    except (OSError, Unusable):
        return []


def _unmapped_owner() -> set:
    """Whom the system's folders belong to in a container whose user namespace lacks the host's root: nobody."""
    try:
        if pathlib.Path("/proc/self/uid_map").read_text(encoding="ascii").split() == ["0", "0", "4294967295"]:
            return set()
        return {int(pathlib.Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))}
    except (OSError, ValueError):
        return set()


def _others_at(place: pathlib.Path, owners: set, sticky: bool = False) -> str:
    """Why others could change what is there. With `sticky`, a folder like /tmp, where each keeps to what is its own, is none of theirs."""
    status = place.stat()
    if status.st_uid not in owners:
        return f"{place} belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not (sticky and status.st_mode & stat.S_ISVTX):
        return f"others may write to {place}"
    return ""


def _distrust_folder(place: pathlib.Path) -> str:
    owners = {os.getuid(), 0}
    above = owners | _unmapped_owner()
    return _others_at(place, owners) or next(filter(None, (_others_at(one, above, sticky=True) for one in place.parents)), "")


def distrust(path: pathlib.Path) -> str:
    """Why a file is not to be loaded; empty when it may be: nobody else could have put it, or a folder that it lies in, there."""
    real = pathlib.Path(os.path.realpath(path))
    return _others_at(real, {os.getuid(), 0}) or _distrust_folder(real.parent)


def _make(place: pathlib.Path) -> None:
    """With the folders above it that are missing: nobody else's either, whatever the umask."""
    if not place.is_dir():
        if place.parent != place:
            _make(place.parent)
        place.mkdir(mode=0o700, exist_ok=True)


@contextlib.contextmanager
def locked():
    """The folder, made if needed, with no other build or removal going on."""
    place = folder()
    _make(place)
    distrusted = _distrust_folder(place)
    if distrusted:
        raise Unusable(f"{distrusted}: what lies in {place} is not to be trusted; name another folder with MEMSNAP_TAP_DIR")
    lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place
    finally:
        os.close(lock)


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
