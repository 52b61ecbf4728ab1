# SPDX-License-Identifier: Apache-2.0
"""Shell completion out of command tables, for bash, zsh and fish. The rule: a script offers what the parser takes at that place: commands,
options, the values of a closed list, else files; behind -- it leaves the words to the program that they run."""

from __future__ import annotations

from command_tables import Command, Option


def quoted(text: str) -> str:
    """For a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _spelled(choices) -> str:
    """A list in which a choice of several words is still one."""
    return " ".join(choice.replace(" ", "\\ ") for choice in choices)


def _valued(command: Command) -> list:
    return [option for option in command.named() if option.metavar]


def _function(name: str) -> str:
    return "_" + name.replace("-", "_").replace(" ", "__")


def _bash_cases(program: Command) -> list:
    lines = ['        case "$at $word" in']
    for command in program.everything():
        lines += [f"            {quoted(below.name)}) at={quoted(below.name)} ;;" for below in command.commands]
    return [*lines, "        esac"]


def _bash_values(program: Command) -> list:
    """What an option's value may be, by command and option."""
    lines = ['    case "$at ${COMP_WORDS[COMP_CWORD - 1]}" in']
    for command in program.everything():
        for option in _valued(command):
            patterns = " | ".join(quoted(f"{command.name} {name}") for name in option.names)
            words = f"_memsnap_words {quoted(' '.join(quoted(choice) for choice in option.choices))}" if option.choices else "_memsnap_files"
            lines.append(f"        {patterns}) {words}; return ;;")
    return [*lines, "    esac"]


def _bash_words(program: Command) -> list:
    lines = ['    case "$at" in']
    for command in program.everything():
        options = " ".join(name for option in command.named() for name in option.names)
        words = [below.word for below in command.commands] + [choice for option in command.placed() for choice in option.choices]
        lines.append(f"        {quoted(command.name)}) options={quoted(options)} words={quoted(' '.join(quoted(word) for word in words))} ;;")
    return [*lines, "    esac"]


def bash(program: Command) -> str:
    name = _function(program.name)
    return "\n".join([
        "# bash completion for " + program.name,
        "_memsnap_files() {",
        "    compopt -o filenames",
        '    mapfile -t COMPREPLY < <(compgen -f -- "$cur")',
        "}",
        "_memsnap_words() {",
        "    local word",
        "    COMPREPLY=()",
        '    while IFS= read -r word; do COMPREPLY+=("$(printf %q "$word")"); done < <(compgen -W "$1" -- "$cur")',
        "}",
        f"{name}() {{",
        f"    local cur=${{COMP_WORDS[COMP_CWORD]}} at={quoted(program.name)} options words word i",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        "        word=${COMP_WORDS[i]}",
        '        if [ "$word" = -- ]; then',
        '            if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else _memsnap_files; fi',
        "            return",
        "        fi",
        *_bash_cases(program),
        "    done",
        *_bash_values(program),
        *_bash_words(program),
        '    if [[ $cur == -* ]]; then',
        '        _memsnap_words "$options"',
        '    elif [ -n "$words" ]; then',
        '        _memsnap_words "$words"',
        "    else",
        "        _memsnap_files",
        "    fi",
        "}",
        f"complete -F {name} {program.name}",
        "",
    ])


def _zsh_told(text: str) -> str:
    """Inside the brackets or behind the colon of an _arguments specification."""
    return "".join("\\" + character if character in "\\[]:" else character for character in _flat(text))


def _zsh_action(option: Option) -> str:
    return f"({_spelled(_zsh_told(choice) for choice in option.choices)})" if option.choices else "_files"


def _zsh_option(option: Option) -> list:
    value = f":{_zsh_told(option.metavar)}:{_zsh_action(option)}" if option.metavar else ""
    star = "*" if option.repeatable else ""
    return [quoted(f"{star}{name}[{_zsh_told(option.help)}]{value}") for name in option.names]


def _zsh_function(command: Command) -> list:
    specifications = [line for option in command.named() for line in _zsh_option(option)]
    if command.commands:
        specifications += [quoted("1: :->command"), quoted("*:: :->rest")]
    for number, option in enumerate([] if command.commands else command.placed(), start=1):
        if option.is_command:
            specifications += [quoted("(-)1:program: _command_names -e"), quoted("*::arguments: _normal")]
        else:
            specifications.append(quoted(f"{'*' if option.repeatable else number}:{_zsh_told(option.metavar)}:{_zsh_action(option)}"))
    lines = [f"{_function(command.name)}() {{", "    local context state state_descr line", "    typeset -A opt_args", "    _arguments -S -C \\"]
    lines += [f"        {specification} \\" for specification in specifications[:-1]] + [f"        {specifications[-1]}"]
    if command.commands:
        told = " ".join(quoted(f"{below.word}:{_zsh_told(below.summary)}") for below in command.commands)
        lines += ["    case $state in", f"        command) local -a commands=({told}); _describe command commands{'; _files' if command.placed() else ''} ;;", "        rest)", "            case $words[1] in"]
        lines += [f"                {below.word}) {_function(below.name)} ;;" for below in command.commands]
        lines += ["            esac ;;", "    esac"]
    return [*lines, "}"]


def zsh(program: Command) -> str:
    lines = [f"#compdef {program.name}"]
    for command in program.everything():
        lines += _zsh_function(command)
    return "\n".join([*lines, f'{_function(program.name)} "$@"', ""])


def _fish_told(text: str) -> str:
    return "'" + _flat(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_at(program: Command, command: Command) -> str:
    """The condition under which the words typed so far lead to this command and none below it."""
    words = command.name.split(" ")[1:]
    seen = [f"__fish_seen_subcommand_from {word}" for word in words]
    below = [f"not __fish_seen_subcommand_from {' '.join(below.word for below in command.commands)}"] if command.commands else []
    return "; and ".join(seen + below) or "true"


def fish(program: Command) -> str:
    lines = []
    for command in program.everything():
        start = f"complete -c {program.name} -n {_fish_told(_fish_at(program, command))}"
        files = command.placed() or not command.commands
        lines += [f"{start} {'' if files else '-f '}-a {below.word} -d {_fish_told(below.summary)}" for below in command.commands]
        for option in command.named():
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a {_fish_told(_spelled(option.choices))}" if option.choices else " -r" if option.metavar else ""
            lines.append(f"{start} {names}{value} -d {_fish_told(option.help)}")
    return "\n".join([*lines, ""])


def scripts(programs: list) -> dict:
    """All of them by where they belong below share/."""
    made = {}
    for program in programs:
        made[f"bash-completion/completions/{program.name}"] = bash(program)
        made[f"zsh/site-functions/_{program.name}"] = zsh(program)
        made[f"fish/vendor_completions.d/{program.name}.fish"] = fish(program)
    return made
