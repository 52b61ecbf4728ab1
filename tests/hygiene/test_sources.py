# SPDX-License-Identifier: Apache-2.0
"""Rules that every source file keeps; each check is also shown to fail on a planted violation."""

import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CODE = {".cpp", ".h", ".c", ".py", ".ts", ".tsx", ".css"}
LINES_AT_MOST = 450


def tracked(*suffixes: str) -> list[pathlib.Path]:
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    files = [TOP / name for name in names.splitlines()]
    return [file for file in files if file.suffix in suffixes and file.exists()]


def without_licence(text: str) -> bool:
    return "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:2])


def too_long(text: str) -> bool:
    return text.count("\n") > LINES_AT_MOST


def left_open(text: str) -> bool:
    return re.search(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b", text) is not None


def names_a_machine(text: str) -> bool:
    return re.search(r"/ro" + r"ot/|/wo" + r"rk/|\.py" + r"env", text) is not None


@pytest.mark.parametrize("broken, planted", [
    (without_licence, "int main() {}\n"),
    (too_long, "\n" * (LINES_AT_MOST + 1)),
    (left_open, "// TO" + "DO: later\n"),
    (names_a_machine, 'open("/ro' + 'ot/ring.bin")\n'),
])
def test_no_source_file_breaks_the_rule(broken, planted):
    assert broken(planted), "the check does not see a planted violation"
    assert [str(file.relative_to(TOP)) for file in tracked(*CODE) if broken(file.read_text())] == []


def test_the_cpp_sources_are_formatted():
    formatter = shutil.which("clang-format")
    assert formatter, "clang-format is missing: run scripts/setup"
    done = subprocess.run([formatter, "--dry-run", "-Werror", *tracked(".cpp", ".h", ".c")], cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    planted = subprocess.run([formatter, "--dry-run", "-Werror", "--assume-filename=x.cpp"], cwd=TOP, input="int  x ;\n", capture_output=True, text=True)
    assert planted.returncode != 0


def test_the_readme_is_short_and_its_links_exist():
    readme = (TOP / "README.md").read_text()
    assert readme.count("\n") < 150
    links = re.findall(r"\]\(([^)#:]+)\)", readme)
    assert links and [link for link in links if not (TOP / link).exists()] == []
