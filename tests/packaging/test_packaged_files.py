# SPDX-License-Identifier: Apache-2.0
"""What scripts/package made, as a machine without a compiler and with an older C library meets it. Skipped where it was not run."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import package_files
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build")).resolve()
FLOOR = (2, 28)
INTERPRETERS = [f"python3.{minor}" for minor in range(9, 15)]


def output(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def needed(file):
    return re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", file))


def highest_versions(file):
    """The highest version of each symbol family that a file asks of its libraries: {"GLIBC": (2, 17)}."""
    asked = {}
    for family, version in re.findall(r"\((GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\)", output("objdump", "-T", file)):
        asked[family] = max(asked.get(family, ()), tuple(map(int, version.split("."))))
    return asked


@pytest.fixture(scope="module")
def wheel(packages):
    (found,) = packages.glob("memsnap-*.whl")
    return found


@pytest.fixture(scope="module")
def files(wheel, tmp_path_factory):
    """The package's folder out of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / "memsnap"


def test_the_recorder_asks_for_the_c_library_alone_and_for_no_newer_one_than_is_promised(files):
    assert needed(files / "libmemsnap.so") == ["libc.so.6"]
    versions = highest_versions(files / "libmemsnap.so")
    assert set(versions) == {"GLIBC"} and (2, 2, 5) <= versions["GLIBC"] <= FLOOR
    # The check can fail: a program of the build tree that is not shipped is linked to the C++ runtime.
    assert set(highest_versions(BUILD / "fixtures/encode/memsnap-encode")) - {"GLIBC"}


def test_the_tools_need_no_library_of_the_machine(files):
    for tool in ("memsnap-replay", "memsnap-oracle"):
        assert "There is no dynamic section" in output("readelf", "-d", files / "bin" / tool)
        assert "INTERP" not in output("readelf", "-lW", files / "bin" / tool)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for chroot")
def test_the_tools_run_where_there_is_nothing_else(files, tmp_path):
    for tool in ("memsnap-replay", "memsnap-oracle"):
        shutil.copy(files / "bin" / tool, tmp_path)
        (tmp_path / tool).chmod(0o755)
        assert "memsnap" in output("chroot", tmp_path, f"/{tool}", "--help")


def test_the_wheel_is_for_every_python_and_names_its_floor_honestly(wheel):
    assert re.fullmatch(r"memsnap-[\d.]+-py3-none-manylinux_2_28_(x86_64|aarch64)\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        said = archive.read(name).decode()
    assert "Root-Is-Purelib: false" in said and re.findall("^Tag: (.*)$", said, re.M) == [wheel.name.removesuffix(".whl").split("-", 2)[2]]


def test_the_wheel_holds_every_file_of_the_package(files):
    held = {path.relative_to(files.parent).as_posix() for path in files.rglob("*") if path.is_file()}
    compiled = {"memsnap/libmemsnap.so", "memsnap/bin/memsnap-replay", "memsnap/bin/memsnap-oracle"}
    assert held - compiled == set(package_files.package_files(TOP / "python")), "build the packages anew: scripts/package"


def test_nothing_in_it_names_the_machine_it_was_built_on(files):
    for name in ("libmemsnap.so", "bin/memsnap-replay", "bin/memsnap-oracle"):
        assert str(TOP).encode() not in (files / name).read_bytes(), name


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_installed_without_a_compiler_or_network_it_records_and_replays(interpreter, wheel, tmp_path):
    python = shutil.which(interpreter)
    if python is None or subprocess.run([python, "-c", "import ensurepip, venv"], capture_output=True).returncode != 0:
        pytest.skip(f"{interpreter} is not here")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    commands = tmp_path / "venv/bin"
    bare = {"PATH": str(commands), "HOME": str(tmp_path)}
    subprocess.run([commands / "python", "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel], env=bare, check=True)

    def run(*words):
        return subprocess.run([commands / words[0], *words[1:]], env=bare, cwd=tmp_path, capture_output=True, text=True)

    assert run("memsnap", "--version").stdout == "memsnap 0.1.0\n"
    (tmp_path / "train.py").write_text("print([line.split()[-1] for line in open('/proc/self/maps') if 'libmemsnap' in line][0])\n")
    recorded = run("memsnap", "run", "--", "python", "train.py")
    assert recorded.returncode == 0 and recorded.stdout.strip().endswith("site-packages/memsnap/libmemsnap.so"), recorded.stderr
    assert run("memsnap-replay", "--version").stdout == "0.1.0\n" and run("memsnap-replay", "gone.bin").returncode == 5
    assert run("memsnap-oracle", "--help").returncode == 0
    entry = run("python", "-c", "import importlib.metadata as m; print([p.value for p in m.distribution('memsnap').entry_points if p.group == 'pytest11'], m.distribution('memsnap').requires)")
    assert "memsnap.gate._pytest_plugin" in entry.stdout and "prometheus-client; extra == 'serve'" in entry.stdout.replace('"', "'")


def test_a_wheel_without_its_tools_says_so_and_does_not_start_itself_for_ever(tmp_path):
    """The command memsnap-replay that pip makes is found by its own name."""
    program = tmp_path / "memsnap-replay"
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom memsnap import _tools\n_tools._PACKAGE = _tools.pathlib.Path('/nonexistent/a/b')\nsys.exit(_tools.run_replay())\n")
    program.chmod(0o755)
    done = subprocess.run([program], env={"PATH": str(tmp_path), "PYTHONPATH": str(TOP / "python")}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 127 and "MEMSNAP_REPLAY" in done.stderr and "Traceback" not in done.stderr


def test_the_version_is_one():
    import memsnap

    (project,) = re.findall(r"version: '([^']*)',\n +license", (TOP / "meson.build").read_text())
    assert memsnap.__version__ == project
