# SPDX-License-Identifier: Apache-2.0
"""The one table of `memsnap`'s commands: the command line, its help, the manual pages and the shell completions are made of it. Each module
has `add_arguments(parser)` and `run(options) -> int`, and is imported only when its command is asked for."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    module: str  # below memsnap
    summary: str
    description: str
    usage: str | None = None


COMMANDS = (
    Command(
        "run",
        "_run",
        "run a program recorded",
        "Runs a program recorded, with the phases of PyTorch programs, whose source is not changed.",
        "memsnap run [options] -- program [arguments …]",
    ),
    Command(
        "tap",
        "tap._command",
        "build, show or remove the torch tap",
        "The torch tap tells requested sizes, streams, pools and deferred frees. It is compiled on this machine against its torch.",
    ),
    Command("arm", "control._arm", "let a dormant job record", "Asks running jobs to record: by process id, recording or pattern of recordings."),
    Command("disarm", "control._disarm", "let a job stop recording", "Asks running jobs to stop recording; what they recorded stays."),
    Command("status", "control._status", "say what jobs on this machine record", "Says of running jobs and their recordings in which state they are."),
    Command(
        "attach",
        "attach._attach",
        "record a job that was started without memsnap",
        "Loads the recorder into a running PyTorch process of yours, and records from there.",
    ),
    Command("detach", "attach._detach", "take the recorder out of an attached job's way", "Ends the recording of an attached job and puts its calls back."),
    Command("top", "live._top", "watch the jobs of this machine", "Shows the memory of running jobs, from their recordings alone."),
    Command("serve", "live._serve", "serve the jobs' numbers to Prometheus", "Serves OpenMetrics of the recordings of this machine."),
    Command("gate", "gate._command", "compare a run with a baseline, for CI", "Holds a recording against limits and a baseline, and exits with 1 when one is broken."),
    Command("fleet", "fleet._command", "collect and ask about many incidents", "Collects receipts and event ledgers in Parquet, and answers questions about them."),
)


class _Parser(argparse.ArgumentParser):
    """argparse's own passes over a help that cannot be written."""

    def _print_message(self, message, file=None):
        stream = file or sys.stderr
        if message and stream:
            stream.write(message)


def add_parser(subparsers, command: Command, with_arguments: bool) -> None:
    parser = subparsers.add_parser(
        command.name,
        help=command.summary,
        usage=command.usage,
        description=command.description,
        allow_abbrev=False,
    )
    if not with_arguments:
        return
    module = importlib.import_module(f".{command.module}", __package__)
    module.add_arguments(parser)
    parser.set_defaults(function=module.run)


def make_parser(version: str, asked: str | None) -> argparse.ArgumentParser:
    """The whole command line, with the arguments of the command that is asked for; of all with None."""
    parser = _Parser(prog="memsnap", description="Why did this GPU job run out of memory?")
    parser.add_argument("--version", action="version", version=f"memsnap {version}")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="COMMAND")
    for command in COMMANDS:
        add_parser(subparsers, command, asked is None or asked == command.name)
    return parser
