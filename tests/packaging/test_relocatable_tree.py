# SPDX-License-Identifier: Apache-2.0
"""The tarball's tree works from any folder, is what its name says, and leaves the job's environment alone."""

import json
import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
import tree

SHOW = "import json, os; print(json.dumps({'maps': open('/proc/self/maps').read(), 'path': os.environ.get('PYTHONPATH'), 'preload': os.environ['LD_PRELOAD']}))"


@pytest.fixture(scope="module")
def moved(made, tmp_path_factory):
    """The tarball unpacked somewhere else, in a folder with a space in its name."""
    folder = tmp_path_factory.mktemp("some where")
    with tarfile.open(made.tarball()) as archive:
        archive.extractall(folder, filter="tar")
    (unpacked,) = folder.iterdir()
    return unpacked


def run(*command, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "PYTHON"))} | variables
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # the tree is looked at afterwards
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)


def test_its_folder_is_named_by_version_and_build(moved, made):
    assert moved.name == f"memsnap-{made.folder.name}" and (moved / "VERSION").read_text() == made.folder.name + "\n"
    assert made.folder.name.startswith("0.1.0-") and len(made.folder.name) == len("0.1.0-") + 12


def test_the_commands_run_from_where_it_was_moved_to_also_through_a_link(moved, tmp_path):
    for program in ("memsnap", "memsnap-replay"):
        assert "0.1.0" in run(moved / "bin" / program, "--version").stdout
    assert run(moved / "bin/memsnap-oracle", "--help").returncode == 0
    (tmp_path / "memsnap").symlink_to(moved / "bin/memsnap")
    assert run(tmp_path / "memsnap", "--version").stdout == "memsnap 0.1.0\n"


def test_run_preloads_the_recorder_of_the_same_tree(made, tmp_path):
    done = run(made.folder / "bin/memsnap", "run", "--", sys.executable, "-c", SHOW)
    told = json.loads(done.stdout)
    assert str(made.folder / "lib/libmemsnap.so") in told["maps"] and told["preload"] == str(made.folder / "python/memsnap/libmemsnap.so")
    assert told["path"] == str(made.folder / "python/memsnap/site")


def test_a_folder_with_white_space_is_refused_by_run_since_the_loader_takes_none(moved):
    done = run(moved / "bin/memsnap", "run", "--", "true")
    assert done.returncode == 2 and "white space" in done.stderr


def test_a_module_of_the_working_folder_does_not_take_its_place(moved, tmp_path):
    (tmp_path / "memsnap.py").write_text("raise SystemExit('not this one')\n")
    (tmp_path / "argparse.py").write_text("raise SystemExit('nor this one')\n")
    done = subprocess.run([moved / "bin/memsnap", "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("memsnap 0.1.0\n", "")


def test_without_the_python_that_it_asks_for_it_says_so(moved):
    done = run(moved / "bin/memsnap", "--version", MEMSNAP_PYTHON="no-such-python")
    assert done.returncode == 127 and "no-such-python" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a read-only mount")
def test_it_works_where_nothing_can_be_written(moved):
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && ! touch "$1/x" 2>/dev/null && "$1/bin/memsnap" --version && "$1/bin/memsnap-replay" --version'
    done = run("unshare", "--mount", "sh", "-c", script, "sh", moved)
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.stdout.splitlines()[0] == "memsnap 0.1.0" and done.returncode == 0, done.stderr


def test_one_source_makes_one_tarball_and_one_name(stand_in, made):
    again = stand_in()
    assert again.folder.name == made.folder.name
    assert again.tarball().read_bytes() == made.tarball().read_bytes()


def test_another_content_has_another_name(made, other_build):
    assert other_build.folder.name != made.folder.name
    assert other_build.folder.name.split("-")[0] == made.folder.name.split("-")[0]


def test_everybody_may_read_it_and_only_the_owner_write(made):
    with tarfile.open(made.tarball()) as archive:
        modes = {row.name.partition("/")[2]: row.mode for row in archive if not row.issym()}
        owners = {(row.uid, row.gid, row.mtime) for row in archive}
    assert owners == {(0, 0, made.seconds)}
    assert set(modes.values()) == {0o755, 0o644}
    assert modes["bin/memsnap"] == modes["bin/memsnap-replay"] == modes["bin/memsnap-install-to"] == 0o755 and modes["lib/libmemsnap.so"] == 0o644


def test_every_module_of_the_package_is_in_it(made):
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "python/memsnap"], cwd=pathlib.Path(__file__).parents[2], capture_output=True, text=True, check=True)
    names = [pathlib.Path(name) for name in tracked.stdout.split()]
    existing = [name for name in names if (pathlib.Path(__file__).parents[2] / name).is_file()]
    assert len(existing) > 20 and [name for name in existing if not (made.folder / name).is_file()] == []


def test_links_lead_nowhere_outside(made):
    for _, path in tree.contents(made.folder):
        assert made.folder in path.resolve().parents, path
