# SPDX-License-Identifier: Apache-2.0
"""The Python interpreters of this machine that tests of the walk run in: this one, those on the path and pyenv's, one of each
version; MEMSNAP_TEST_PYTHONS (with colons between) names more, which come first."""

import os
import pathlib
import shutil
import subprocess
import sys

KNOWN = [(3, minor) for minor in range(9, 15)]


def version_of(path):
    try:
        text = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, timeout=20).stdout
        return tuple(map(int, text.split()))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def pyenv_versions():
    root = os.environ.get("PYENV_ROOT")
    command = shutil.which("pyenv")
    if root is None and command is not None:
        root = subprocess.run([command, "root"], capture_output=True, text=True).stdout.strip()
    return sorted(map(str, pathlib.Path(root).glob("versions/3.*/bin/python3"))) if root else []


def find():
    named = filter(None, os.environ.get("MEMSNAP_TEST_PYTHONS", "").split(":"))
    paths = [*named, sys.executable, *pyenv_versions()]
    paths += filter(None, (shutil.which(f"python{major}.{minor}") for major, minor in KNOWN))
    found = {}
    for path in paths:
        version = version_of(path)
        if version:
            found.setdefault(version, path)
    return found


ALL = find()
WALKED = {f"{major}.{minor}": path for (major, minor), path in sorted(ALL.items()) if (major, minor) in KNOWN}
OLDER = next((path for version, path in sorted(ALL.items(), reverse=True) if version < KNOWN[0]), None)
