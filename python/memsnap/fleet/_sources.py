# SPDX-License-Identifier: Apache-2.0
"""What there is to ingest: regular files below the given folders, in batches of which each is taken whole or not at all. The rule: no link is
followed, nothing but regular files is opened, and the same folders always make the same batches."""

from __future__ import annotations

import dataclasses
import os
import stat

from ._checks import Rejected

SUFFIXES = {".json": "document", ".csv": "ledger", ".bin": "recording"}
BATCH_FILES, _BATCH_BYTES = 512, 32 << 20


@dataclasses.dataclass(frozen=True)
class Source:
    path: str  # absolute
    kind: str
    size_bytes: int

    @property
    def stem(self) -> str:
        """What a receipt and the ledger beside it share."""
        return os.path.splitext(self.path)[0]


def open_regular(path: str) -> int:
    """A descriptor of a regular file that is no link. Raises Rejected."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Rejected("unreadable", error.strerror or "") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Rejected("not_a_file")
    return descriptor


def read_at_most(path: str, limit_bytes: int) -> bytes:
    descriptor = open_regular(path)
    try:
        if os.fstat(descriptor).st_size > limit_bytes:
            raise Rejected("too_large", f"more than {limit_bytes >> 20} MiB")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(limit_bytes + 1)
    except OSError as error:
        raise Rejected("unreadable", error.strerror or "") from None
    finally:
        os.close(descriptor)


def _source(path: str, entry_stat) -> Source | None:
    kind = SUFFIXES.get(os.path.splitext(path)[1].lower())
    return Source(path, kind, entry_stat.st_size) if kind and stat.S_ISREG(entry_stat.st_mode) else None


def _below(folder: str, refused: list):
    """Every file below a folder that may be ours. A lake's own folders (`_…`) and hidden ones are left alone."""
    pending = [folder]
    while pending:
        current = pending.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not entry.name.startswith((".", "_")):
                            pending.append(entry.path)
                    elif found := _source(entry.path, entry.stat(follow_symlinks=False)):
                        yield found
        except OSError as error:
            refused.append((current, error.strerror or "cannot be read"))


def find(paths: list[str]) -> tuple[list[Source], list[tuple[str, str]]]:
    """The sources below `paths`, sorted, each once; and what could not be looked into, with the reason."""
    found, refused = {}, []
    for path in paths:
        path = os.path.realpath(path)  # what the user names may be a link; what lies below may not
        if os.path.isdir(path):
            found.update((source.path, source) for source in _below(path, refused))
        else:
            try:
                source = _source(path, os.stat(path, follow_symlinks=False))
                if source is None:
                    refused.append((path, f"is none of {', '.join(SUFFIXES)}"))
                else:
                    found[path] = source
            except OSError as error:
                refused.append((path, error.strerror or "cannot be read"))
    return sorted(found.values(), key=lambda source: (os.path.dirname(source.path), source.stem, source.kind != "document", source.path)), refused


def batches(sources: list[Source], files: int = BATCH_FILES) -> list[list[Source]]:
    """Runs of the sorted sources; a receipt and the ledger beside it are never parted."""
    made, current, size_bytes = [], [], 0
    for index, source in enumerate(sources):
        if current and source.stem != sources[index - 1].stem and (len(current) >= files or size_bytes >= _BATCH_BYTES):
            made.append(current)
            current, size_bytes = [], 0
        current.append(source)
        size_bytes += source.size_bytes
    return made + [current] if current else made
