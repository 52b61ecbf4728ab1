# SPDX-License-Identifier: Apache-2.0
"""What a run was, by memsnap-replay: its numbers beside those of a baseline. The rule: nothing is computed here that memsnap-replay tells."""

from __future__ import annotations

import dataclasses
import json
import subprocess

from .. import _tools

_ANSWERS = (0, 6, 10, 11)  # the statuses with which a comparison was made


class Unreadable(Exception):
    """memsnap-replay's own words, and its exit status."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Run:
    """A run beside the baseline (or beside itself, without one)."""

    path: str
    comparison: dict  # memsnap-replay diff --json

    def bytes_of(self, member: str, side: str) -> int | None:
        value = self.comparison["compared"][member][side]["value"]
        return None if value is None else int(value)  # beyond 2^53 it is a text of digits

    @property
    def incident(self) -> str:
        """none, survived, or another word of a failure that ended the run."""
        return self.comparison["after"]["incident"]

    @property
    def cause(self) -> str:
        after = self.comparison["after"]
        return after["primary"] or after["answer"] or "a cause that the evidence does not decide"

    @property
    def differences(self) -> list[str]:
        """What makes it another job than the baseline's, a phrase each."""
        rows = self.comparison["cohort"]["differences"]
        return [f"{row['field']}: {row['before']} -> {row['after']}" for row in rows]


def read_run(path: str, baseline: str | None) -> Run:
    """Raises Unreadable and _tools.Missing."""
    command = [_tools.find(_tools.REPLAY), "diff", baseline or path, path, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in _ANSWERS:
        raise Unreadable(done.stderr.strip() or f"memsnap-replay ended with {done.returncode}", done.returncode)
    return Run(path, json.loads(done.stdout))
