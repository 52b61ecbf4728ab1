# SPDX-License-Identifier: Apache-2.0
"""Completion as a shell asks for it: what is offered at a place is what the parser takes there."""

import shutil
import subprocess

import completions
import pytest


@pytest.fixture(scope="module")
def share(programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("share")
    for name, text in completions.scripts(programs).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A working folder with a file of each sort."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "ring-1.bin").touch()
    (folder / "train it.py").touch()
    return folder


def in_bash(share, here, *words: str) -> set:
    """What bash would offer for the last word."""
    program = words[0]
    script = f"""
        source {share}/bash-completion/completions/{program}
        compopt() {{ :; }}
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        $(complete -p {program} | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-uc", script, "bash", *words], cwd=here, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.splitlines()) - {""}


def test_bash_offers_commands_then_their_options(share, here, programs):
    assert in_bash(share, here, "memsnap", "") == {command.word for command in programs[0].commands}
    assert in_bash(share, here, "memsnap", "ta") == {"tap"}
    assert in_bash(share, here, "memsnap", "run", "--ring") == {"--ring-mb"}
    assert in_bash(share, here, "memsnap", "tap", "b") == {"build"}
    assert {"dump", "check", "diff", "triage"} <= in_bash(share, here, "memsnap-replay", "")
    assert in_bash(share, here, "memsnap-replay", "dump", "--st") == {"--state"}


def test_bash_offers_every_option_of_every_command(share, here, programs):
    for program in programs:
        for command in program.everything():
            offered = in_bash(share, here, *command.name.split(" "), "-")
            assert offered == {name for option in command.named() for name in option.names}, command.name


def test_bash_offers_files_where_a_value_or_an_argument_is_wanted(share, here):
    assert in_bash(share, here, "memsnap-oracle", "ri") == {"ring-1.bin"}
    assert in_bash(share, here, "memsnap", "run", "--out", "") == {"ring-1.bin", "train it.py"}
    assert in_bash(share, here, "memsnap-replay", "ring-1.bin", "--json", "r") == {"ring-1.bin"}


def test_bash_offers_the_values_of_a_closed_list(share, here, programs):
    closed = [(command, option) for program in programs for command in program.everything() for option in command.named() if option.choices and option.metavar]
    assert closed
    for command, option in closed:
        assert in_bash(share, here, *command.name.split(" "), option.names[-1], "") == {choice.replace(" ", "\\ ") for choice in option.choices}


def test_behind_two_dashes_bash_completes_for_the_program_that_is_run(share, here):
    assert in_bash(share, here, "memsnap", "run", "--", "train") == {"train it.py"}
    assert in_bash(share, here, "memsnap", "run", "--", "python", "--no") == set()


def test_names_that_a_shell_would_obey_are_quoted_in_every_script():
    from command_tables import Command, Option

    for hostile in ("$(touch planted)", "`touch planted`", "'; touch planted; '", "[x]:y\\"):
        option = Option(("--x",), "FILE", hostile)
        program = Command("tool", hostile, hostile, "", "", (option,), (Command("tool sub", hostile, hostile, "", "", (option,), ()),))
        for make, shell in ((completions.bash, "bash"), (completions.zsh, "zsh"), (completions.fish, "fish")):
            if shutil.which(shell):
                checked = subprocess.run([shell, "-n", "/dev/stdin"], input=make(program), capture_output=True, text=True)
                assert checked.returncode == 0 and checked.stderr == "", (shell, hostile)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not here")
def test_fish_offers_commands_and_options(share, here, programs):
    def in_fish(line):
        script = f"source {share}/fish/vendor_completions.d/memsnap.fish; source {share}/fish/vendor_completions.d/memsnap-replay.fish; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=here, capture_output=True, text=True, check=True)
        return {row.split("\t")[0] for row in done.stdout.splitlines()}

    assert {command.word for command in programs[0].commands} <= in_fish("memsnap ")
    assert in_fish("memsnap run --ring") == {"--ring-mb"}
    assert in_fish("memsnap-replay dump --st") == {"--state"}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not here")
def test_zsh_takes_every_script(share, programs):
    for program in programs:
        script = share / "zsh/site-functions" / f"_{program.name}"
        assert script.read_text().startswith(f"#compdef {program.name}\n")
        checked = subprocess.run(["zsh", "-n", script], capture_output=True, text=True)
        assert checked.returncode == 0 and checked.stderr == ""
