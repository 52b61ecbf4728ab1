# SPDX-License-Identifier: Apache-2.0
"""The relocatable tree: one folder that works from any place, unpacked out of the wheel. The rule: it holds what the wheel holds, byte for
byte, in places where a shell looks for it; its name tells what is in it, so one name never stands for two contents.

    VERSION  bin/  lib/libmemsnap.so  python/memsnap/  share/{man,bash-completion,zsh,fish,doc}
"""

from __future__ import annotations

import gzip
import hashlib
import os
import pathlib
import shutil
import tarfile
import zipfile

TOOLS = ("memsnap-replay", "memsnap-oracle")
RECORDER = "libmemsnap.so"


def unpack(wheel: pathlib.Path, folder: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for row in archive.infolist():
            if row.filename.startswith("memsnap/") and not row.is_dir():
                file = folder / row.filename
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.read(row))
                file.chmod(0o755 if row.external_attr >> 16 & 0o111 else 0o644)


def _link_back(moved: pathlib.Path, old: pathlib.Path) -> None:
    """A file of the package moves to where a shell looks for it; the package finds it through a link."""
    moved.parent.mkdir(parents=True, exist_ok=True)
    old.rename(moved)
    old.symlink_to(os.path.relpath(moved, old.parent))


def contents(folder: pathlib.Path):
    """(name below the folder, path), sorted; folders are not told."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix(), path


def build_id(folder: pathlib.Path) -> str:
    """Twelve digits that stand for every name, mode and byte in the folder."""
    whole = hashlib.sha256()
    for name, path in contents(folder):
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        mode = 0o777 if path.is_symlink() else path.stat().st_mode & 0o777
        whole.update(f"{name}\0{mode:o}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:12]


def make(wheel: pathlib.Path, programs: list, shared: dict, documents: dict, version: str, below: pathlib.Path) -> pathlib.Path:
    """The tree, in a new folder VERSION-BUILD in `below`. `programs`: scripts for bin/; `shared`: texts by name below share/; `documents`:
    files and folders by name below share/doc/memsnap/."""
    folder = below / "unnamed"
    shutil.rmtree(folder, ignore_errors=True)
    unpack(wheel, folder / "python")
    package = folder / "python/memsnap"
    _link_back(folder / "lib" / RECORDER, package / RECORDER)
    for tool in TOOLS:
        _link_back(folder / "bin" / tool, package / "bin" / tool)
    for program in programs:
        shutil.copyfile(program, folder / "bin" / program.name)
        (folder / "bin" / program.name).chmod(0o755)
    for name, text in shared.items():
        file = folder / "share" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name, source in documents.items():
        target = folder / "share/doc/memsnap" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or (path.stat().st_mode & 0o100 and path.suffix != ".so") else 0o644)
    name = f"{version}-{build_id(folder)}"
    (folder / "VERSION").write_text(name + "\n")
    (folder / "VERSION").chmod(0o644)
    shutil.rmtree(below / name, ignore_errors=True)
    folder.rename(below / name)
    return below / name


def _plain(row: tarfile.TarInfo, seconds: int) -> tarfile.TarInfo:
    row.uid = row.gid = 0
    row.uname = row.gname = "root"
    row.mtime = seconds
    return row


def pack(folder: pathlib.Path, machine: str, seconds: int, below: pathlib.Path) -> pathlib.Path:
    """memsnap-VERSION-BUILD-linux-MACHINE.tar.gz: the same bytes for the same tree. `seconds`: the time that all its files carry."""
    archive = below / f"memsnap-{folder.name}-linux-{machine}.tar.gz"
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=seconds) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as rows:
        for path in [folder, *sorted(folder.rglob("*"))]:
            rows.add(path, f"memsnap-{folder.name}/{path.relative_to(folder).as_posix()}".removesuffix("/."), recursive=False, filter=lambda row: _plain(row, seconds))
    return archive
