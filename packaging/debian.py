# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of a tree. The rule: a file that a job may have mapped is never replaced, not even by an upgrade. So the tree is a
package of its own whose name holds version and build, as kernels' are: the next one is installed beside it, and it goes when it is removed.
The package `memsnap` has what people call: links, manual pages, completions. Its link /usr/lib/memsnap/current is turned by dpkg, at once."""

from __future__ import annotations

import datetime
import gzip
import os
import pathlib
import shutil
import subprocess
import textwrap

COMMANDS = ("memsnap", "memsnap-replay", "memsnap-oracle", "memsnap-install-to")
MAINTAINER = "The memsnap authors <memsnap@example.org>"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Modules are compiled once, since nobody but root can write there; dpkg knows nothing of what that makes.
SCRIPTS = {
    "postinst": """#!/bin/sh
set -e
if [ "$1" = configure ] && command -v python3 >/dev/null; then
    python3 -m compileall -q /usr/lib/memsnap/{name}/python || true
fi
""",
    "postrm": """#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = purge ]; then
    rm -rf /usr/lib/memsnap/{name}
    rmdir /usr/lib/memsnap 2>/dev/null || true
fi
""",
}


def _control(fields: dict, description: str) -> str:
    first, _, rest = description.partition("\n")
    text = "".join(f" {line or '.'}\n" for line in textwrap.dedent(rest).strip().split("\n"))
    return "".join(f"{name}: {value}\n" for name, value in fields.items()) + f"Description: {first}\n{text}"


def _zipped(text: bytes, file: pathlib.Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text, 9, mtime=0))


def _linked(link: pathlib.Path, target: str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


def _documented(root: pathlib.Path, package: str, tree: pathlib.Path, version: str, date: str) -> None:
    folder = root / "usr/share/doc" / package
    folder.mkdir(parents=True)
    shutil.copyfile(tree / "share/doc/memsnap/copyright", folder / "copyright")
    entry = f"{package} ({version}) unstable; urgency=medium\n\n  * Built from the source tree of this version.\n\n -- {MAINTAINER}  {date}\n"
    _zipped(entry.encode(), folder / "changelog.gz")


def _whole_tree(root: pathlib.Path, tree: pathlib.Path) -> None:
    shutil.copytree(tree, root / "usr/lib/memsnap" / tree.name, symlinks=True)


def _what_people_call(root: pathlib.Path, tree: pathlib.Path) -> None:
    _linked(root / "usr/lib/memsnap/current", tree.name)
    for command in COMMANDS:
        _linked(root / "usr/bin" / command, f"../lib/memsnap/current/bin/{command}")
    share = root / "usr/share"
    for page in sorted((tree / "share/man/man1").iterdir()):
        _zipped(page.read_bytes(), share / "man/man1" / f"{page.name}.gz")
    for ours, debians in (("bash-completion/completions",) * 2, ("zsh/site-functions", "zsh/vendor-completions"), ("fish/vendor_completions.d",) * 2):
        shutil.copytree(tree / "share" / ours, share / debians)


def _pack(root: pathlib.Path, control: str, below: pathlib.Path, seconds: int) -> pathlib.Path:
    (root / "DEBIAN").mkdir(exist_ok=True)
    (root / "DEBIAN/control").write_text(control)
    files = sorted(file.relative_to(root).as_posix() for file in (root / "usr").rglob("*") if file.is_file() and not file.is_symlink())
    sums = subprocess.run(["md5sum", *files], cwd=root, capture_output=True, text=True, check=True).stdout
    (root / "DEBIAN/md5sums").write_text(sums)
    for path in [root, *root.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    done = subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, below], capture_output=True, text=True, check=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds)})
    return below / done.stdout.rpartition("/")[2].strip().rstrip(".").rstrip("'")


def make(tree: pathlib.Path, version: str, machine: str, seconds: int, below: pathlib.Path) -> list:
    """Both packages, in `below`: the tree's own, and memsnap. Newer builds of one version are upgrades: `seconds`, the source's time, counts."""
    architecture = ARCHITECTURES.get(machine, machine)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    full = f"{version}+{moment:%Y%m%d%H%M%S}"
    date = moment.strftime("%a, %d %b %Y %H:%M:%S +0000")
    name = f"memsnap-{tree.name}"
    common = {"Version": full, "Architecture": architecture, "Maintainer": MAINTAINER, "Section": "devel", "Priority": "optional"}
    made = []
    for package, fields, fill, description in (
        (name, {"Depends": "libc6 (>= 2.28)", "Suggests": "libunwind8"}, _whole_tree,
         """memory recorder for GPU jobs, build {build}
         The recorder, its tools and the Python package of one build, in a folder
         of their own that no other build shares. Jobs that have them mapped go on
         while a newer build is installed beside it. Remove it when no job needs it.""".format(build=tree.name)),
        ("memsnap", {"Depends": f"{name} (= {full}), python3 (>= 3.9)"}, _what_people_call,
         """says why a GPU job ran out of memory, from evidence
         Records the device memory of a job into one bounded file that survives
         kill -9, and explains the failure from it, without running the job again:
         live set, retention, fragmentation or pressure from outside.
         .
         Commands, manual pages and completions of the newest build."""),
    ):
        root = below / "root"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        fill(root, tree)
        _documented(root, package, tree, full, date)
        size = sum(file.lstat().st_size for file in (root / "usr").rglob("*")) // 1024 + 1
        control = _control({"Package": package, **common, **fields, "Installed-Size": size}, description)
        if package == name:
            (root / "DEBIAN").mkdir(exist_ok=True)
            for script, text in SCRIPTS.items():
                (root / "DEBIAN" / script).write_text(text.format(name=tree.name))
                (root / "DEBIAN" / script).chmod(0o755)
        made.append(_pack(root, control, below, seconds))
        shutil.rmtree(root)
    return made
