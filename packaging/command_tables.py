# SPDX-License-Identifier: Apache-2.0
"""Every command line of memsnap as plain rows, for manual pages and shell completion. The rule: rows are read off the parsers themselves,
`memsnap` off memsnap/_commands.py, the compiled tools off what their --commands prints; a command whose module is missing is an error."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Option:
    names: tuple  # ("-h", "--help"); empty: an argument by place
    metavar: str  # what its value is called; empty: it takes none
    help: str
    choices: tuple = ()
    default: str = ""
    required: bool = False
    repeatable: bool = False
    is_command: bool = False  # it and all behind it are a program's words

    @property
    def by_place(self) -> bool:
        return not self.names


@dataclasses.dataclass(frozen=True)
class Command:
    name: str  # all words that call it: "memsnap tap build"
    summary: str
    description: str
    usage: str  # empty: follows from the options
    footer: str
    options: tuple
    commands: tuple

    @property
    def word(self) -> str:
        return self.name.split(" ")[-1]

    def named(self) -> list:
        return [option for option in self.options if not option.by_place]

    def placed(self) -> list:
        return [option for option in self.options if option.by_place]

    def everything(self):
        """Itself and all commands below it."""
        yield self
        for command in self.commands:
            yield from command.everything()


def _argparse_option(parser: argparse.ArgumentParser, action: argparse.Action) -> Option:
    metavar = action.metavar or (action.dest if not action.option_strings else action.dest.upper())
    if isinstance(metavar, tuple):
        metavar = " ".join(metavar)
    return Option(
        names=tuple(action.option_strings),
        metavar=metavar if not action.option_strings or action.nargs != 0 else "",
        help=parser._get_formatter()._expand_help(action) if action.help else "",
        choices=tuple(str(choice) for choice in action.choices or ()),
        required=action.required and action.nargs not in ("?", "*", argparse.REMAINDER),
        repeatable=isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+", argparse.REMAINDER),
        is_command=action.nargs == argparse.REMAINDER,
    )


def of_argparse(parser: argparse.ArgumentParser, name: str, summary: str) -> Command:
    """`parser` and its subparsers, called by the words of `name`."""
    options, commands = [], []
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands += [of_argparse(below, f"{name} {word}", summaries.get(word, "")) for word, below in action.choices.items()]
        else:
            options.append(_argparse_option(parser, action))
    return Command(name, summary, parser.description or summary, parser.usage or "", parser.epilog or "", tuple(options), tuple(commands))


def of_package() -> Command:
    """`memsnap`; the package must be on Python's search path. Raises ImportError for a command without its module."""
    from memsnap import __version__, _commands

    return of_argparse(_commands.make_parser(__version__, None), "memsnap", "record, watch and gate the GPU memory of jobs")


def _tool_option(row: dict) -> Option:
    kind, _, checked = row["type"].partition(":")
    choices = re.search(r"\{(.*)\}", row["type"])
    flag = not row["type"]
    return Option(
        names=tuple(row["names"]),
        metavar="" if flag and row["names"] else row["positional"] or (checked if re.fullmatch(r"[A-Z:0-9]+", checked) else kind),
        help=row["help"],
        choices=tuple(choices.group(1).split(",")) if choices else (),
        default=row["default"],
        required=row["required"],
        repeatable=row["repeatable"],
    )


def _tool_command(row: dict, name: str) -> Command:
    below = tuple(_tool_command(command, f"{name} {command['name']}") for command in row["commands"])
    options = tuple(_tool_option(option) for option in row["options"])
    return Command(name, row["description"].rstrip("."), row["description"], "", row["footer"], options, below)


def of_tool(program: str) -> Command:
    """A compiled tool, which is run to tell. Raises OSError, CalledProcessError, ValueError."""
    told = subprocess.run([program, "--commands"], capture_output=True, text=True, check=True).stdout
    row = json.loads(told)
    return _tool_command(row, row["name"])
