# SPDX-License-Identifier: Apache-2.0
"""Packages to look at: those that scripts/package made where it was run, and always ones of the same layout with the build tree's own
programs, whose linking differs and nothing else."""

import os
import pathlib
import subprocess
import sys
import types
import zipfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build")).resolve()
PACKAGES = pathlib.Path(os.environ.get("MEMSNAP_PACKAGES", TOP / "build/packages"))
MOMENT_SECONDS = 1_700_000_000
sys.path[:0] = [str(TOP / "packaging")]

import command_tables  # noqa: E402
import debian  # noqa: E402
import make_packages  # noqa: E402
import package_files  # noqa: E402
import tree  # noqa: E402


def write_wheel(wheel: pathlib.Path, plain: dict, compiled: dict) -> pathlib.Path:
    """A wheel of files: contents by name; the compiled ones may be executed."""
    with zipfile.ZipFile(wheel, "w") as archive:
        for files, mode in ((plain, 0o644), (compiled, 0o755)):
            for name, content in files.items():
                row = zipfile.ZipInfo(name)
                row.external_attr = (0o100000 | mode) << 16
                archive.writestr(row, content)
    return wheel


@pytest.fixture(scope="session")
def tools():
    return [str(BUILD / "replay/memsnap-replay"), str(BUILD / "oracle/memsnap-oracle")]


@pytest.fixture(scope="session")
def programs(tools):
    """The command tables of everything that people call."""
    return [command_tables.of_package(), *(command_tables.of_tool(tool) for tool in tools), make_packages.INSTALL_TO]


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory, tools):
    """make(version="0.1.0", note="") makes tree, tarball and Debian packages; another note, another build."""
    stripped = tmp_path_factory.mktemp("stripped")
    compiled = {}
    for name, path in (("libmemsnap.so", BUILD / "interpose/libmemsnap.so"), ("bin/memsnap-replay", tools[0]), ("bin/memsnap-oracle", tools[1])):
        subprocess.run(["strip", "-o", stripped / "file", path], check=True)
        compiled[f"memsnap/{name}"] = (stripped / "file").read_bytes()
    plain = {name: (TOP / "python" / name).read_bytes() for name in package_files.package_files(TOP / "python")}
    shared = make_packages.shared_texts(tools, "0.1.0", MOMENT_SECONDS)

    def make(version="0.1.0", note="", seconds=MOMENT_SECONDS):
        below = tmp_path_factory.mktemp("packages")
        wheel = write_wheel(below / f"memsnap-{version}-py3-none-any.whl", plain | ({"memsnap/note.txt": note} if note else {}), compiled)
        folder = tree.make(wheel, make_packages.PROGRAMS, shared, make_packages.DOCUMENTS, version, below)
        return types.SimpleNamespace(folder=folder, version=version, seconds=seconds, below=below,
                                     tarball=lambda: tree.pack(folder, "x86_64", seconds, below),
                                     debs=lambda: debian.make(folder, version, "x86_64", seconds, below))
    return make


@pytest.fixture(scope="session")
def made(stand_in):
    return stand_in()


@pytest.fixture(scope="session")
def other_build(stand_in):
    return stand_in(note="another build", seconds=MOMENT_SECONDS + 60)


@pytest.fixture(scope="session")
def packages():
    """The folder that scripts/package filled."""
    if not list(PACKAGES.glob("memsnap-*.whl")):
        pytest.skip("scripts/package was not run")
    return PACKAGES
