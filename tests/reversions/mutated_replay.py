# SPDX-License-Identifier: Apache-2.0
"""Builds a memsnap-replay with one small patch applied to its sources.

Only what the patch touches is compiled again (without optimisation); everything else comes from the finished build, whose objects the patched ones hide.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
SOURCES = TOP / "replay"
INCLUDE = re.compile(r'^#include "([^"/]+)"', re.M)
SLOW_OR_CHECKING = re.compile(r"^(-O\d|-g|-W.*|-Werror|-fdiagnostics.*|-M.*)$")


def touched(patch: str) -> set[str]:
    """The files of replay/ that a patch changes, by name."""
    return set(re.findall(r"^\+\+\+ b/replay/(\S+)", patch, re.M))


def sources_to_compile(changed: set[str]) -> list[str]:
    """The changed sources, and every source that includes a changed header, directly or not."""
    includes = {file.name: set(INCLUDE.findall(file.read_text())) for file in SOURCES.iterdir() if file.suffix in (".h", ".cpp")}
    reached = set(changed)
    while more := {name for name, included in includes.items() if included & reached} - reached:
        reached |= more
    return sorted(name for name in reached if name.endswith(".cpp"))


def compile_command(source: str) -> list[str]:
    """The finished build's own command for a source, without what costs time and without its output."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if entry["file"].endswith(f"replay/{source}"):
            words = shlex.split(entry["command"])
            kept = [word for at, word in enumerate(words) if not SLOW_OR_CHECKING.match(word) and words[at - 1] not in ("-MQ", "-MF", "-o", "-c")]
            return [word for word in kept if word not in ("-o", "-c") and not word.endswith("replay")]
    raise AssertionError(f"{source} is not part of the build")


def link_command(program: pathlib.Path, objects: list[str]) -> list[str]:
    """The finished build's own command for the program, to another place; what comes before the archive hides its members of the same name."""
    commands = subprocess.run(["ninja", "-t", "commands", "-s", "replay/memsnap-replay"], cwd=BUILD, capture_output=True, text=True, check=True).stdout
    words = shlex.split(commands.splitlines()[-1])
    at = words.index("-o") + 1
    hidden = {pathlib.Path(name).name for name in objects}
    rest = [word for word in words[at + 1 :] if pathlib.Path(word).name not in hidden]
    return [*words[:at], str(program), *objects, *rest]


def mirror(folder: pathlib.Path, patch: str) -> pathlib.Path:
    """A tree of links to the sources in which the patched files are real."""
    tree = folder / "replay"
    tree.mkdir()
    for beside in ("interpose", "fixtures", "snapshot"):
        (folder / beside).symlink_to(TOP / beside)
    changed = touched(patch)
    for file in SOURCES.iterdir():
        if file.name in changed:
            (tree / file.name).write_text(file.read_text())
        elif file.is_file():
            (tree / file.name).symlink_to(file)
    applied = subprocess.run(["patch", "-p1", "--fuzz=0", "--silent"], cwd=folder, input=patch, capture_output=True, text=True)
    assert applied.returncode == 0, f"the patch no longer applies: {applied.stdout}{applied.stderr}"
    return tree


def build(folder: pathlib.Path, patch: str) -> pathlib.Path:
    """Returns the patched program. `folder` must be empty."""
    tree = mirror(folder, patch)
    objects = []
    for source in sources_to_compile(touched(patch)):
        target = folder / f"{source}.o"
        command = [*compile_command(source), "-O0", "-w", f"-I{tree}", "-c", str(tree / source), "-o", str(target)]
        done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True)
        assert done.returncode == 0, f"the patched {source} does not compile:\n{done.stderr}"
        objects.append(str(target))
    program = folder / "memsnap-replay"
    done = subprocess.run(link_command(program, objects), cwd=BUILD, capture_output=True, text=True)
    assert done.returncode == 0, f"the patched program does not link:\n{done.stderr}"
    return program
