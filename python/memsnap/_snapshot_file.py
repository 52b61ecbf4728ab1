# SPDX-License-Identifier: Apache-2.0
"""Where a snapshot goes: a name from a template, a file that is there whole or not at all, and never over another one."""

import os
import pickle
import threading

# What torch's own viewer reads; newer ones it refuses.
PROTOCOL = 4
_MOST_NUMBERS = 10_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


def _rank() -> str:
    for variable in _RANKS:
        if os.environ.get(variable, "").isdecimal():
            return os.environ[variable]
    return "none"


def expand(template: str) -> str:
    """%p process id, %r rank, %h host, %% a percent sign; other letters stay as they are."""
    values = {"p": lambda: str(os.getpid()), "r": _rank, "h": lambda: os.uname().nodename.replace("/", "_"), "%": lambda: "%"}
    said, rest = [], template
    while rest:
        before, percent, rest = rest.partition("%")
        said.append(before)
        if percent:
            said.append(values.get(rest[:1], lambda letter=rest[:1]: "%" + letter)())
            rest = rest[1:]
    return "".join(said)


def _numbered(path: str):
    """The path, then path-2, path-3 and so on, before its suffix."""
    stem, suffix = os.path.splitext(path)
    yield path
    for number in range(2, _MOST_NUMBERS):
        yield f"{stem}-{number}{suffix}"


def _take(name: str) -> bool:
    """Makes an empty file, unless there is one."""
    try:
        os.close(os.open(name, _NEW, 0o600))
    except FileExistsError:
        return False
    return True


def _publish(temporary: str, path: str) -> str:
    """Gives the finished file the first name that is free."""
    for name in _numbered(path):
        try:
            os.link(temporary, name)
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if not _take(name):
                continue
            try:
                os.replace(temporary, name)
            except OSError:
                os.unlink(name)
                raise
        return name
    raise FileExistsError(f"{path} and {_MOST_NUMBERS - 2} numbered names are taken")


def write(snapshot, path: str) -> str:
    """Writes the snapshot beside `path`, then names it; returns the name it got. Readable by its owner alone. After an exception nothing is
    left behind."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{threading.get_ident()}.part")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            pickle.dump(snapshot, file, protocol=PROTOCOL)
            file.flush()
            os.fsync(file.fileno())
        return _publish(temporary, path)
    finally:
        try:
            os.unlink(temporary)
        except FileNotFoundError:  # it was renamed
            pass
