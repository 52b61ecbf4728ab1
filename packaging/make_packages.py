# SPDX-License-Identifier: Apache-2.0
"""Makes tarball and Debian packages out of a wheel, beside it: make_packages.py WHEEL SECONDS (the time of the source, since 1970)."""

from __future__ import annotations

import pathlib
import platform
import shutil
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "python"), str(TOP / "packaging")]

import command_tables  # noqa: E402
import completions  # noqa: E402
import debian  # noqa: E402
import manual_pages  # noqa: E402
import measure  # noqa: E402
import tree  # noqa: E402

PROGRAMS = [TOP / "packaging/memsnap", TOP / "packaging/memsnap-install-to"]
DOCUMENTS = {"copyright": TOP / "packaging/copyright", "LICENSE": TOP / "LICENSE", "recipes": TOP / "packaging/recipes"}
INSTALL_TO = command_tables.Command(
    "memsnap-install-to",
    "put this memsnap into a folder that jobs share",
    "Installs into FOLDER/VERSION-BUILD, and turns the link FOLDER/current to it. What is there is never changed: a library that a job has mapped stays what it is.",
    "memsnap-install-to FOLDER",
    "Exit status:\n  0  it is there\n  2  usage\n  5  it could not be written; the link is as it was\n",
    (command_tables.Option(("-h", "--help"), "", "say how it is used"), command_tables.Option((), "FOLDER", "an existing folder", required=True)),
    (),
)


def shared_texts(tools: list, version: str, seconds: int) -> dict:
    """Manual pages and completions by name below share/."""
    package = command_tables.of_package()
    programs = [command_tables.of_tool(tool) for tool in tools] + [INSTALL_TO]
    settings = (TOP / "docs/recording.md").read_text()
    pages = manual_pages.pages(package, programs, settings, version, seconds)
    return {**{f"man/man1/{name}": text for name, text in pages.items()}, **completions.scripts([package, *programs])}


def main(wheel: pathlib.Path, seconds: int) -> int:
    version, below = wheel.name.split("-")[1], wheel.parent
    bare = below / "bare"
    shutil.rmtree(bare, ignore_errors=True)
    tree.unpack(wheel, bare)
    shared = shared_texts([str(bare / "memsnap/bin" / tool) for tool in tree.TOOLS], version, seconds)
    shutil.rmtree(bare)
    folder = tree.make(wheel, PROGRAMS, shared, DOCUMENTS, version, below)
    made = [wheel, tree.pack(folder, platform.machine(), seconds, below)]
    if shutil.which("dpkg-deb"):
        made += debian.make(folder, version, platform.machine(), seconds, below)
    print(f"memsnap {folder.name}, stripped")
    print("\n".join(measure.sizes([folder / "lib/libmemsnap.so", *(folder / "bin" / tool for tool in tree.TOOLS), *made])))
    print("start-up, least of several runs")
    print("\n".join(measure.starts(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])))
