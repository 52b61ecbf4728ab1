# SPDX-License-Identifier: Apache-2.0
"""`memsnap tap build|status|clear`: for which torch a tap is built, where it lies, and what is said when it cannot be. No device is needed."""

import argparse
import os
import pathlib
import pwd
import re
import subprocess
import sys
import types

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "python"
sys.path.insert(0, str(PACKAGE))

from memsnap.tap import _build, _command, _folder, _key  # noqa: E402

UNSUITABLE, FAILED, OUTPUT_ERROR = 3, 4, 5


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    return tmp_path / "cache" / "taps"


@pytest.fixture
def environment(folder) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_") and name not in ("CXX", "LD_PRELOAD")}
    return inherited | {"MEMSNAP_TAP_DIR": str(folder), "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def tap(environment):
    def run(*arguments, **extra) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-m", "memsnap", "tap", *arguments], env=environment | extra, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture
def compiler(tmp_path):
    """A compiler that counts its runs and is what the given shell lines make of it."""

    def made(lines: str) -> str:
        script = tmp_path / "compiler"
        script.write_text(f'#!/bin/sh\necho run >>"{tmp_path}/runs"\n{lines}\n')
        script.chmod(0o755)
        return str(script)

    return made


def built(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "lock")


def test_a_tap_is_built_once_shown_and_removed(tap, folder):
    assert tap("status").returncode == 1 and not folder.exists()
    first, second = tap("build"), tap("build")
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout.startswith("built ") and second.stdout.startswith("there already: ")
    (name,) = built(folder)
    assert re.fullmatch(r"tap-[0-9][\w.+-]*-[0-9a-f]{16}\.so", name) and folder.stat().st_mode & 0o777 == 0o700
    shown = tap("status")
    assert shown.returncode == 0 and name in shown.stdout
    (folder / ".building-left-by-a-kill").touch()
    assert tap("clear").stdout == "removed 1\n" and built(folder) == []
    assert tap("status").returncode == 1 and tap("clear").stdout == "removed 0\n"


def test_two_builds_at_once_compile_one_tap(environment, folder, tmp_path, compiler):
    slow = environment | {"CXX": compiler('exec c++ "$@"')}
    both = [subprocess.Popen([sys.executable, "-m", "memsnap", "tap", "build"], env=slow, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(one.communicate(timeout=300)[0].split(" ", 1)[0] for one in both)

    assert [one.returncode for one in both] == [0, 0] and said == ["built", "there"]
    assert (tmp_path / "runs").read_text() == "run\n" and len(built(folder)) == 1


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(tap, folder, compiler):
    done = tap("build", CXX=compiler("echo 'x.cpp:1: error: no such thing' >&2; while [ \"$1\" != -o ]; do shift; done; echo half >\"$2\"; exit 3"))

    assert done.returncode == FAILED and done.stdout == ""
    assert "exit code 3" in done.stderr and "error: no such thing" in done.stderr and "-std=c++20" in done.stderr
    assert built(folder) == []


def test_what_was_built_and_cannot_be_loaded_is_not_kept(tap, folder, compiler):
    done = tap("build", CXX=compiler('while [ "$1" != -o ]; do shift; done; echo "no library at all, and long enough for its header to be looked at ........" >"$2"'))

    assert done.returncode == FAILED and "cannot be loaded" in done.stderr and built(folder) == []


@pytest.mark.parametrize("extra, said", [({"CXX": "no-such-compiler -O2"}, "CXX names was not found"), ({"PATH": "/nowhere"}, "install g++")])
def test_without_a_compiler_what_to_install_is_said(tap, extra, said):
    done = tap("build", **extra)

    assert done.returncode == FAILED and said in done.stderr


def test_a_folder_that_cannot_be_made_is_an_output_error(tap):
    done = tap("build", MEMSNAP_TAP_DIR="/proc/no-such-folder/taps")

    assert done.returncode == OUTPUT_ERROR and "/proc/no-such-folder" in done.stderr


def test_a_link_in_the_place_of_the_lock_is_not_followed(tap, folder, tmp_path):
    folder.mkdir(parents=True, mode=0o700)
    other = tmp_path / "other"
    other.write_text("the user's")
    (folder / "lock").symlink_to(other)
    done = tap("build")

    assert done.returncode == OUTPUT_ERROR and str(folder / "lock") in done.stderr and other.read_text() == "the user's"


@pytest.mark.parametrize("which", ["folder", "above"])
@pytest.mark.parametrize("action", ["build", "clear"])
def test_nothing_is_built_in_or_removed_from_a_folder_that_others_could_change(tap, folder, which, action, compiler, tmp_path):
    folder.mkdir(parents=True, mode=0o700)
    open_to_others = folder if which == "folder" else folder.parent
    open_to_others.chmod(0o777)
    (folder / "tap-1.so").touch()
    done = tap(action, CXX=compiler("exit 1"))

    assert done.returncode == OUTPUT_ERROR and f"others may write to {open_to_others}" in done.stderr
    assert built(folder) == ["tap-1.so"] and not (folder / "lock").exists() and not (tmp_path / "runs").exists()


# Makes what is loaded as a tap, without torch's headers.
STUB = r"""
for word; do
    case "$word" in -DMEMSNAP_TAP_KEY=*) key="${word#*=}";; esac
    if [ "$before" = -o ]; then output="$word"; fi
    before="$word"
done
echo "char memsnap_tap_key[] = $key; int memsnap_tap_attach;" | cc -shared -fPIC -xc - -o "$output"
"""


def test_a_tap_that_others_may_write_to_is_built_anew(tap, folder, compiler, tmp_path):
    own = compiler(STUB)
    assert tap("build", CXX=own).returncode == 0
    (name,) = built(folder)
    (folder / name).chmod(0o777)
    assert tap("status").returncode == 1
    done = tap("build", CXX=own)

    assert done.stdout.startswith("built ") and (folder / name).stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "runs").read_text() == "run\n" * 2 and tap("status").returncode == 0


def test_folders_that_are_made_are_nobody_elses_whatever_the_umask(tap, folder):
    before = os.umask(0)
    try:
        done = tap("build", CXX="false")
    finally:
        os.umask(before)

    assert done.returncode == FAILED and {place.stat().st_mode & 0o777 for place in (folder, folder.parent)} == {0o700}


def test_a_file_is_trusted_where_nobody_else_could_have_put_it_or_a_folder_above_it(monkeypatch, tmp_path):
    top = tmp_path / "top"
    place = top / "taps"
    place.mkdir(parents=True, mode=0o700)
    top.chmod(0o700)
    file = place / "tap-1.so"
    file.touch(0o700)
    assert _folder.distrust(file) == ""

    def with_mode(changed: pathlib.Path, mode: int) -> str:
        before = changed.stat().st_mode
        changed.chmod(mode)
        try:
            return _folder.distrust(file)
        finally:
            changed.chmod(before)

    for changed in (top, place, file):
        assert with_mode(changed, 0o720) == with_mode(changed, 0o702) == f"others may write to {changed}"
    assert with_mode(top, 0o1777) == ""  # as /tmp: others cannot take away what is not theirs
    assert with_mode(place, 0o1777) == f"others may write to {place}"  # but put their own there
    link = tmp_path / "link"
    link.symlink_to(place)
    monkeypatch.setenv("MEMSNAP_TAP_DIR", str(link))
    assert _folder.folder() == place and _folder.distrust(link / file.name) == ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to others")
@pytest.mark.parametrize("which", ["top", "taps", "tap-1.so"])
@pytest.mark.parametrize("contained", [False, True])
def test_what_belongs_to_another_user_is_not_trusted_except_what_the_hosts_root_has_in_a_container(monkeypatch, tmp_path, which, contained):
    file = tmp_path / "top/taps/tap-1.so"
    file.parent.mkdir(parents=True)
    file.touch(0o700)
    changed = {place.name: place for place in (file, *file.parents)}[which]
    os.chown(changed, 65534, -1)
    monkeypatch.setattr(_folder, "_unmapped_owner", lambda: {65534} if contained else set())

    assert _folder.distrust(file) == ("" if contained and which == "top" else f"{changed} belongs to another user")


def test_a_user_without_a_home_has_no_taps_and_is_told_what_to_name(monkeypatch, capsys):
    def unknown(_user):
        raise KeyError

    for name in ("HOME", "XDG_CACHE_HOME", "MEMSNAP_TAP_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert _folder.taps() == []
    assert _command.run(argparse.Namespace(action="clear")) == OUTPUT_ERROR and "no home folder: name a folder for taps with MEMSNAP_TAP_DIR" in capsys.readouterr().err


@pytest.mark.parametrize("torch, said", [
    ("raise ImportError('not for this Python')", "cannot be imported"),
    ("__version__ = '9.9.1'\nclass version: cuda = None", "built without CUDA"),
    ("__version__ = 'main'\nclass version: cuda = '13.0'", "'main' is not understood"),
    ("__version__ = '9.9.1'\nclass version: cuda = '13.0'", "no libc10_cuda.so is loaded"),
], ids=["none", "without-cuda", "no-version", "no-allocator"])
def test_a_torch_with_nothing_to_tap_is_told_apart_from_a_failed_build(tap, tmp_path, torch, said):
    (tmp_path / "torch.py").write_text(torch)
    for action in ("build", "status"):
        done = tap(action, PYTHONPATH=f"{tmp_path}:{PACKAGE}")
        assert done.returncode == UNSUITABLE and said in done.stderr


def fake_torch(**changed) -> types.SimpleNamespace:
    facts = {"version": "2.14.1+cu130", "git": "5c48", "cuda": "13.0", "abi": True} | changed
    return types.SimpleNamespace(
        __version__=facts["version"], version=types.SimpleNamespace(cuda=facts["cuda"], git_version=facts["git"]), _C=types.SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=facts["abi"]))


def test_each_fact_of_a_torch_and_each_byte_of_its_allocator_and_of_the_tap_makes_another_tap(monkeypatch, tmp_path):
    allocator, source = tmp_path / "libc10_cuda.so", tmp_path / "tap.cpp"
    allocator.write_bytes(b"one")
    source.write_text("one")
    monkeypatch.setattr(_key, "allocator_library", lambda: allocator)
    monkeypatch.setattr(_key, "SOURCES", [source])

    def name(**changed) -> str:
        torch = fake_torch(**changed)
        return _key.file_name(torch, _key.key_of(torch))

    names = [name(), name(version="2.14.1+cu126"), name(git="0000"), name(cuda="12.6"), name(abi=False)]
    allocator.write_bytes(b"two")
    names.append(name())
    source.write_text("two")
    names.append(name())
    assert len(set(names)) == 7 and name() == names[-1]
    assert "/" not in name(version="2.15.0/../x")


def test_cudas_headers_come_from_as_few_folders_as_have_them(monkeypatch, tmp_path):
    torch = fake_torch()
    wheel, toolkit, triton = (tmp_path / name for name in ("wheel", "toolkit", "triton"))
    monkeypatch.setattr(_build, "_cuda_folders", lambda _torch: [wheel, toolkit, triton])
    for folder, names in ((wheel, ["cuda_runtime_api.h"]), (toolkit, []), (triton, ["cuda_runtime_api.h", "crt/host_defines.h"])):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()

    assert _build.cuda_headers(torch) == [wheel, triton]
    (triton / "crt/host_defines.h").unlink()
    with pytest.raises(_build.Failed, match=r"crt/host_defines.h was not found: .*CUDA_HOME.*nvidia-cuda-crt"):
        _build.cuda_headers(torch)
    (wheel / "crt").mkdir()
    (wheel / "crt/host_defines.h").touch()
    assert _build.cuda_headers(torch) == [wheel]


def test_the_sources_that_make_a_key_are_those_of_the_tap():
    assert {path.name for path in (PACKAGE / "memsnap/tap").iterdir() if path.suffix in (".cpp", ".h")} == {path.name for path in _key.SOURCES}
