# SPDX-License-Identifier: Apache-2.0
"""What `arm` and `disarm` share: their arguments, and how they say what each process answered."""

from __future__ import annotations

import argparse
import sys

from . import _asking, _targets

TARGETS_HELP = "a process id, a recording, a folder of recordings, or a pattern in quotes"
DONE, SOME_NOT, NOTHING_FOUND = 0, 1, 3  # exit codes; 2 is usage
_MOST_LINES = 20  # of processes that did as they were asked
_UNITS_S = {"s": 1, "m": 60, "h": 3600}


def duration_s(text: str) -> float:
    """"90", "90s", "5m", "1.5h" in seconds. Raises ArgumentTypeError."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS_S else (text, "s")
    if not number.replace(".", "", 1).isdecimal() or not number.isascii() or not 0 < float(number) * _UNITS_S[unit] <= 10 * 365 * 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: 90s, 5m, 1.5h")
    return float(number) * _UNITS_S[unit]


def add_asking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="TARGET", nargs="+", help=TARGETS_HELP)
    parser.add_argument("--wait", metavar="TIME", type=duration_s, default=3.0, help="how long to wait for the answers (3s; recorders look once a second)")


def shown(text: str) -> str:
    """A name on one line, without what would move the cursor."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def named(found: _targets.Found) -> str:
    return f"pid {found.pid}  {shown(found.shown)}" if found.pid else shown(found.shown)


def ask_and_say(options: argparse.Namespace, wish: int, until_ns: int, done_word: str, why_not=lambda header: None) -> int:
    """Asks all targets but those of whose header `why_not` says something, and says what each answered; the exit code."""
    resolved = _targets.resolve(options.targets)
    answers = _asking.ask(resolved.found, wish, until_ns, options.wait, why_not)
    done = [answer for answer in answers if answer.done]
    for answer in done[:_MOST_LINES]:
        print(f"{done_word}  {named(answer.found)}")
    if len(done) > _MOST_LINES:
        print(f"{done_word}  {len(done) - _MOST_LINES} more")
    sys.stdout.flush()
    for answer in answers:
        if not answer.done:
            print(f"not {done_word}  {named(answer.found)}: {answer.why_not}", file=sys.stderr)
    for target, why in resolved.faults:
        print(f"not {done_word}  {shown(target)}: {why}", file=sys.stderr)
    if resolved.ended_count:
        print(f"passed over: {resolved.ended_count} of processes that have ended", file=sys.stderr)
    if not resolved.found:
        if not resolved.faults:
            print(f"nothing {done_word}: no recording of a running process there", file=sys.stderr)
        return NOTHING_FOUND
    return DONE if len(done) == len(answers) and not resolved.faults else SOME_NOT
