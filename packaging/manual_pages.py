# SPDX-License-Identifier: Apache-2.0
"""Manual pages out of command tables. The rule: a page holds every option of its command with its help, and nothing that the parser does not
say, but for the recorder's variables, which docs/recording.md lists."""

from __future__ import annotations

import datetime
import re

from command_tables import Command, Option


def escaped(text: str) -> str:
    """Text for roff: no line of it is a request, no character of it an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    text = "".join(character if character < "\x7f" else f"\\[u{ord(character):04X}]" for character in text)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def _value(option: Option) -> str:
    return "{" + ",".join(option.choices) + "}" if option.choices else option.metavar


def _head(option: Option) -> str:
    value = f" \\fI{escaped(_value(option))}\\fR" if option.metavar else ""
    if option.by_place:
        return value.strip()
    return ", ".join(f"\\fB{escaped(name)}\\fR" for name in option.names) + value


def _placed(option: Option) -> str:
    shown = _value(option) + (" ..." if option.repeatable else "")
    return shown if option.required else f"[{shown}]"


def synopsis(command: Command) -> str:
    """One line, as it would be typed."""
    if command.usage:
        return command.usage
    words = [command.name, "[options]" if command.named() else ""]
    words += [f"{option.names[-1]} {option.metavar}" for option in command.named() if option.required]
    words += [_placed(option) for option in command.placed()] + (["COMMAND"] if command.commands else [])
    return " ".join(word for word in words if word)


def _options(options) -> list:
    lines = []
    for option in options:
        about = option.help
        if option.default:
            about += f" (default {option.default})"
        lines += [".TP", _head(option), escaped(about) or "\\&"]
    return lines


def _footer(footer: str) -> list:
    """Exit codes, which the tools write as a table: a number, and what it means on the lines below it."""
    title, _, table = footer.partition("\n")
    rows = re.findall(r"^  (\d+) +(.*(?:\n {6}.*)*)", table, re.M)
    if not rows:
        return [".SH NOTES", escaped(footer)] if footer else []
    lines = [".SH " + escaped(title.rstrip(":").upper())]
    for number, meaning in rows:
        lines += [".TP", f"\\fB{number}\\fR", escaped(re.sub(r"\s*\n\s*", " ", meaning))]
    return lines


def _below(command: Command) -> list:
    """What a command of a page says of itself."""
    lines = [f".SS {escaped(synopsis(command))}", escaped(command.description), *_options(command.options)]
    for below in command.commands:
        lines += _below(below)
    return lines


def variables(settings: str) -> list:
    """The rows (name, meaning) of the table of variables in the text of docs/recording.md."""
    rows = re.findall(r"^\| `(MEMSNAP_\w+)` \|([^|]*)\|(.*)\|$", settings, re.M)
    plain = [(name, re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning.strip()), default.strip()) for name, default, meaning in rows]
    return [(name, (meaning + (f" (default {default})" if default else "")).replace("`", "")) for name, meaning, default in plain]


def page(command: Command, version: str, seconds: int, environment=(), see_also=()) -> str:
    """The page of `command` and of all below it. `seconds`: the date it carries, since 1970."""
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d")
    name = command.name.replace(" ", "-")
    lines = [f'.TH "{escaped(name.upper())}" 1 "{date}" "memsnap {version}" "User Commands"', ".ad l", ".nh", ".SH NAME", f"{escaped(name)} \\- {escaped(command.summary)}"]
    lines += [".SH SYNOPSIS", f"\\fB{escaped(synopsis(command))}\\fR", ".SH DESCRIPTION", escaped(command.description)]
    if command.options:
        lines += [".SH OPTIONS", *_options(command.options)]
    if command.commands:
        lines.append(".SH COMMANDS")
        for below in command.commands:
            lines += _below(below)
    lines += _footer(command.footer)
    if environment:
        lines.append(".SH ENVIRONMENT")
        for variable, meaning in environment:
            lines += [".TP", f"\\fB{escaped(variable)}\\fR", escaped(meaning)]
    others = [other for other in see_also if other != name]
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{escaped(other)}\\fR(1)" for other in others)]
    return "\n".join(line for line in lines if line) + "\n"


def pages(package: Command, tools: list, settings: str, version: str, seconds: int) -> dict:
    """All pages by file name: one for memsnap, one for each of its commands, one for each tool."""
    brief = Command(package.name, package.summary, package.description, package.usage, package.footer, package.options,
                    tuple(Command(below.name, below.summary, below.summary[:1].upper() + below.summary[1:] + f": memsnap-{below.word}(1).", synopsis(below), "", (), ()) for below in package.commands))
    shown = [brief, *package.commands, *tools]
    names = [command.name.replace(" ", "-") for command in shown]
    environment = {"memsnap": variables(settings), "memsnap-run": variables(settings)}
    return {f"{name}.1": page(command, version, seconds, environment.get(name, ()), names) for name, command in zip(names, shown)}
