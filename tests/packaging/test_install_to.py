# SPDX-License-Identifier: Apache-2.0
"""memsnap-install-to puts versions side by side into a folder that jobs share, and never changes what one of them has mapped."""

import os
import shutil
import subprocess
import threading

import pytest
from mapped_process import answer, mapped_recorder, preloaded

BUSYBOX = shutil.which("busybox")


def install(tree, folder, *shell):
    return subprocess.run([*shell, str(tree / "bin/memsnap-install-to"), str(folder)], capture_output=True, text=True)


def test_the_version_is_put_beside_others_and_the_link_is_turned(made, other_build, tmp_path):
    done = install(made.folder, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path}/{made.folder.name}\n", "")
    assert os.readlink(tmp_path / "current") == made.folder.name
    install(other_build.folder, tmp_path)
    assert os.readlink(tmp_path / "current") == other_build.folder.name
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["current", made.folder.name, other_build.folder.name])
    assert subprocess.run(["diff", "-r", "--no-dereference", made.folder, tmp_path / made.folder.name]).returncode == 0


def test_a_job_that_has_the_old_one_mapped_goes_on_and_its_children_find_it(made, other_build, tmp_path):
    install(made.folder, tmp_path)
    library = tmp_path / "current/lib/libmemsnap.so"
    with preloaded(library) as job:
        before = mapped_recorder(job.pid)
        inode = library.stat().st_ino
        assert install(other_build.folder, tmp_path).returncode == 0
        assert library.stat().st_ino != inode
        assert mapped_recorder(job.pid) == before and before[1] == inode
        assert before[0].endswith(f"{made.folder.name}/lib/libmemsnap.so") and os.stat(before[0]).st_ino == inode
        assert answer(job).startswith("alive")


def test_whoever_follows_the_link_meanwhile_always_finds_a_whole_version(made, other_build, tmp_path):
    install(made.folder, tmp_path)
    missing, done = [], threading.Event()

    def look():
        while not done.is_set():
            try:
                assert (tmp_path / "current/lib/libmemsnap.so").stat().st_size > 0
            except OSError as error:
                missing.append(error)

    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(10):
        for build in (other_build, made):
            assert install(build.folder, tmp_path).returncode == 0
    done.set()
    looking.join()
    assert missing == []


def test_what_is_there_already_is_left_as_it_is(made, tmp_path):
    install(made.folder, tmp_path)
    before = {path: path.lstat().st_mtime_ns for path in (tmp_path / made.folder.name).rglob("*")}
    assert install(made.folder, tmp_path).returncode == 0
    assert {path: path.lstat().st_mtime_ns for path in (tmp_path / made.folder.name).rglob("*")} == before


def test_several_at_once_leave_one_whole_version(made, tmp_path):
    running = [subprocess.Popen([made.folder / "bin/memsnap-install-to", tmp_path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 6
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [made.folder.name, "current"]


def in_a_container(tree, folder):
    """An install whose process number is the same each time, as in containers; skips where that is not allowed."""
    if subprocess.run(["unshare", "-pf", "true"], capture_output=True).returncode != 0:
        pytest.skip("process numbers of their own are not allowed here")
    return subprocess.Popen(["unshare", "-pf", tree / "bin/memsnap-install-to", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_what_a_killed_install_of_the_same_process_number_left_disturbs_none_and_nothing_gets_into_a_version(made, other_build, tmp_path):
    for number in range(1, 9):
        for build in (made, other_build):
            (tmp_path / f".new-{build.folder.name}-{number}").mkdir()
            (tmp_path / f".link-{build.folder.name}-{number}").symlink_to(build.folder.name)
    for build in (made, other_build, made):
        process = in_a_container(build.folder, tmp_path)
        assert (process.communicate()[1], process.returncode) == ("", 0)
        assert os.readlink(tmp_path / "current") == build.folder.name
        assert subprocess.run(["diff", "-r", "--no-dereference", build.folder, tmp_path / build.folder.name]).returncode == 0


def test_several_of_one_process_number_at_once_leave_whole_versions_that_all_may_read(made, other_build, tmp_path):
    running = [in_a_container(build.folder, tmp_path) for _ in range(3) for build in (made, other_build)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 6
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["current", made.folder.name, other_build.folder.name])
    assert (tmp_path / made.folder.name).stat().st_mode & 0o777 == 0o755


def test_use_and_troubles_are_told_apart(made, tmp_path):
    assert subprocess.run([made.folder / "bin/memsnap-install-to"], capture_output=True).returncode == 2
    gone = install(made.folder, tmp_path / "gone")
    assert gone.returncode == 2 and "make it first" in gone.stderr
    (tmp_path / "current").mkdir()
    (tmp_path / "current/theirs").touch()
    taken = install(made.folder, tmp_path)
    assert taken.returncode == 5 and "is it a folder?" in taken.stderr and (tmp_path / "current/theirs").exists()
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")
def test_a_full_disk_leaves_the_link_as_it_was(made, other_build, tmp_path):
    # Room for one version and a part of another.
    size = sum(path.lstat().st_size for path in made.folder.rglob("*"))
    script = 'mount -t tmpfs -o size=$3 none "$1" && "$4/bin/memsnap-install-to" "$1" && "$2/bin/memsnap-install-to" "$1"; echo $?; readlink "$1/current"; ls -A "$1"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", tmp_path, other_build.folder, str(size * 3 // 2), made.folder], capture_output=True, text=True)
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.stdout.splitlines()[1:] == ["5", made.folder.name, made.folder.name, "current"], done.stderr
    assert "is it full?" in done.stderr


@pytest.mark.skipif(BUSYBOX is None, reason="busybox is not here")
def test_busybox_is_enough(made, other_build, tmp_path):
    """As in an init container that has nothing else."""
    tools, target = tmp_path / "tools", tmp_path / "target"
    tools.mkdir(), target.mkdir()
    for tool in ("sh", "cp", "mv", "ln", "sync", "readlink", "cat", "chmod", "mktemp", "rm"):
        (tools / tool).symlink_to(BUSYBOX)
    for build in (made, other_build, made):
        done = subprocess.run([tools / "sh", build.folder / "bin/memsnap-install-to", target], env={"PATH": str(tools)}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert os.readlink(target / "current") == build.folder.name
    assert subprocess.run(["diff", "-r", "--no-dereference", made.folder, target / made.folder.name]).returncode == 0
