# SPDX-License-Identifier: Apache-2.0
"""The Debian packages as dpkg installs, upgrades and removes them, in a root of their own."""

import os
import pathlib
import shutil
import subprocess

import pytest
from mapped_process import answer, mapped_recorder, preloaded

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg is not here")


class Root:
    """A folder that dpkg takes for a whole system."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        for name in ("info", "updates", "triggers"):
            (folder / "var/lib/dpkg" / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()

    def dpkg(self, *words):
        # The machine's C library and Python are in no list of this root; scripts of packages would need a shell in it.
        options = [f"--root={self.folder}", f"--log={self.folder}/log", "--force-depends", "--force-not-root", "--force-script-chrootless", "--force-bad-path"]
        return subprocess.run(["dpkg", *options, *[str(word) for word in words]], capture_output=True, text=True, check=True, env={**os.environ, "DPKG_MAINTSCRIPT_DEBUG": ""})

    def left(self) -> list:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file() and not path.relative_to(self.folder).as_posix().startswith(("var/", "log")))


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path / "root")


@pytest.fixture(scope="module")
def debs(made):
    return made.debs()


@pytest.fixture(scope="module")
def newer(other_build):
    return other_build.debs()


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", deb, name], capture_output=True, text=True, check=True).stdout.strip()


def test_one_package_holds_a_build_and_the_other_what_people_call(debs, made):
    build, commands = debs
    assert field(build, "Package") == f"memsnap-{made.folder.name}" and field(commands, "Package") == "memsnap"
    assert field(commands, "Depends") == f"memsnap-{made.folder.name} (= {field(build, 'Version')}), python3 (>= 3.9)"
    assert "Replaces" not in subprocess.run(["dpkg-deb", "-f", build], capture_output=True, text=True, check=True).stdout


def test_installed_it_runs_and_has_pages_and_completions(root, debs, made):
    root.dpkg("-i", *debs)
    usr = root.folder / "usr"
    assert os.readlink(usr / "lib/memsnap/current") == made.folder.name
    assert subprocess.run([usr / "bin/memsnap", "--version"], capture_output=True, text=True).stdout == "memsnap 0.1.0\n"
    assert subprocess.run([usr / "bin/memsnap-replay", "--version"], capture_output=True, text=True).stdout == "0.1.0\n"
    for page in ("memsnap.1.gz", "memsnap-run.1.gz", "memsnap-replay.1.gz", "memsnap-oracle.1.gz", "memsnap-install-to.1.gz"):
        assert subprocess.run(["man", "-l", usr / "share/man/man1" / page], capture_output=True, text=True).stdout.startswith("MEMSNAP")
    assert (usr / "share/bash-completion/completions/memsnap").is_file() and (usr / "share/zsh/vendor-completions/_memsnap").is_file()
    verified = root.dpkg("--verify", "memsnap", f"memsnap-{made.folder.name}")
    assert verified.stdout == ""


def test_an_upgrade_leaves_what_a_job_has_mapped(root, debs, newer, made, other_build):
    root.dpkg("-i", *debs)
    library = root.folder / "usr/lib/memsnap/current/lib/libmemsnap.so"
    with preloaded(library) as job:
        before = mapped_recorder(job.pid)
        root.dpkg("-i", *newer)
        assert os.readlink(root.folder / "usr/lib/memsnap/current") == other_build.folder.name
        assert mapped_recorder(job.pid) == before and os.stat(before[0]).st_ino == before[1]
        assert answer(job).startswith("alive")
        assert library.stat().st_ino != before[1]
    # The old build goes when it is removed, and only then.
    root.dpkg("-r", f"memsnap-{made.folder.name}")
    assert not (root.folder / f"usr/lib/memsnap/{made.folder.name}").exists() and library.is_file()


def test_a_newer_build_of_one_version_is_an_upgrade(debs, newer):
    versions = [field(deb, "Version") for deb in (debs[1], newer[1])]
    assert subprocess.run(["dpkg", "--compare-versions", versions[0], "lt", versions[1]]).returncode == 0


def test_removed_it_leaves_nothing_behind(root, debs, made):
    root.dpkg("-i", *debs)
    subprocess.run([root.folder / "usr/bin/memsnap", "status"], capture_output=True)  # Python compiles what it runs
    root.dpkg("-P", "memsnap", f"memsnap-{made.folder.name}")
    assert root.left() == []
    assert not (root.folder / "usr/lib/memsnap").exists()


def test_one_source_makes_the_same_packages(stand_in, debs):
    again = stand_in().debs()
    assert [deb.name for deb in again] == [deb.name for deb in debs]
    assert [deb.read_bytes() for deb in again] == [deb.read_bytes() for deb in debs]


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not here")
def test_lintian_finds_no_error(debs):
    # The programs of the build tree are linked otherwise than the packaged ones.
    found = subprocess.run(["lintian", "--allow-root", "--suppress-tags", "statically-linked-binary,embedded-library", *debs], capture_output=True, text=True)
    assert [line for line in found.stdout.splitlines() if line.startswith("E:")] == []
