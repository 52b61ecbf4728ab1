# SPDX-License-Identifier: Apache-2.0
"""Prints the files of the Python package below the given folder, one a line, sorted: all there are, but for what Python and builds leave."""

import pathlib
import sys

LEFT_BEHIND = {"__pycache__", "bin", "libmemsnap.so"}


def package_files(folder: pathlib.Path) -> list:
    files = [file.relative_to(folder) for file in (folder / "memsnap").rglob("*") if file.is_file()]
    return sorted(file.as_posix() for file in files if not LEFT_BEHIND.intersection(file.parts) and not file.name.startswith("."))


if __name__ == "__main__":
    print("\n".join(package_files(pathlib.Path(sys.argv[1]))))
