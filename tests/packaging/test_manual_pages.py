# SPDX-License-Identifier: Apache-2.0
"""Manual pages hold what the parsers take, all of it, and man shows them without a complaint."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import command_tables
import manual_pages
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages(programs):
    return manual_pages.pages(programs[0], programs[1:], (TOP / "docs/recording.md").read_text(), "0.1.0", 1_700_000_000)


def shown(page: str, tmp_path) -> str:
    """As man prints it; its complaints come first."""
    file = tmp_path / "page.1"
    file.write_text(page)
    environment = {**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(["man", "--warnings", "-l", str(file)], capture_output=True, text=True, env=environment, check=True)
    return done.stderr + re.sub(r".\x08", "", done.stdout)


def test_each_command_has_its_page(pages, programs):
    names = {command.name.split(" ")[1] for command in programs[0].commands}
    assert {"run", "tap", "arm", "attach", "top", "gate", "fleet"} <= names
    assert set(pages) == {"memsnap.1", "memsnap-replay.1", "memsnap-oracle.1", "memsnap-install-to.1"} | {f"memsnap-{name}.1" for name in names}


def missing_from(page: str, command) -> list:
    """Options of a command and of those below it that the page does not say, with their help."""
    said = " ".join(page.split())
    return [(below.name, option.names or option.metavar) for below in command.everything() for option in below.options
            if not all(name in said for name in option.names) or " ".join(option.help.split()) not in said]


def test_every_option_of_every_command_is_on_its_page_with_its_help(pages, programs, tmp_path):
    shown_pages = {name: shown(page, tmp_path).replace("‐\n", "") for name, page in pages.items()}
    for command in [*programs[0].commands, *programs[1:]]:
        page = re.sub(r"[‐-]\n\s+", "-", shown_pages[command.name.replace(" ", "-") + ".1"]).replace("’", "'").replace("‘", "`")
        assert command.options, command.name
        assert missing_from(page, command) == []
        # One that the page does not hold is seen.
        planted = dataclasses.replace(command.options[0], names=("--planted",))
        assert missing_from(page, dataclasses.replace(command, options=(planted,), commands=()))


def test_the_tables_hold_every_option_that_the_help_of_a_tool_names(programs, tools):
    for program, tool in zip(programs[1:], tools):
        for command in program.everything():
            words = command.name.split(" ")[1:]
            told = subprocess.run([tool, *words, "--help"], capture_output=True, text=True, check=True).stdout
            named = set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", told, re.M))
            assert named and named == {name for option in command.named() for name in option.names if name.startswith("--")}


def test_man_and_mandoc_find_nothing_wrong(pages, tmp_path):
    for name, page in pages.items():
        assert not shown(page, tmp_path).startswith(("<standard input>", "troff", "an.tmac")), name
        if shutil.which("mandoc"):
            linted = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", tmp_path / "page.1"], capture_output=True, text=True)
            assert linted.stdout == "" and linted.returncode == 0, name
    wrong = subprocess.run(["man", "--warnings", "-l", "-"], input='.TH X 1\n.SH NAME\nx \\- y\n.nonsense\n', capture_output=True, text=True)
    assert "nonsense" in wrong.stderr


def test_the_variables_of_the_recorder_are_on_the_page_of_run(pages):
    documented = set(re.findall(r"^\| `(MEMSNAP_\w+)` \|", (TOP / "docs/recording.md").read_text(), re.M))
    assert "MEMSNAP_OUT" in documented
    assert {variable for variable in documented if f"\\fB{variable}\\fR" not in pages["memsnap-run.1"]} == set()


def test_exit_codes_stand_one_by_one(pages, tmp_path):
    page = shown(pages["memsnap-replay.1"], tmp_path)
    assert "EXIT STATUS" in page
    assert set(re.findall(r"^ +(\d+) {3,}\S", page, re.M)) >= {"0", "10", "11", "2", "3", "4", "5", "6"}


def test_help_with_leading_dots_backslashes_and_dashes_is_printed_as_it_is(tmp_path):
    text = ".so /etc/passwd and \\fB a\\b --dash 'quoted' ~ ^ ` …"
    command = command_tables.Command("x", "one", text, "", "", (), ())
    assert text in shown(manual_pages.page(command, "1", 0, (), ["y"]), tmp_path).replace("’", "'")


def test_a_command_without_its_module_fails_loudly(tmp_path):
    script = ("import sys, command_tables\nfrom memsnap import _commands\n"
              "_commands.COMMANDS += (_commands.Command('gone', 'no._such', 'x', 'x'),)\ncommand_tables.of_package()\n")
    environment = {**os.environ, "PYTHONPATH": f"{TOP / 'packaging'}:{TOP / 'python'}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode != 0 and "memsnap.no" in done.stderr
