# SPDX-License-Identifier: Apache-2.0
"""Sentences about one job: its state, what its memory does from step to step, what its failure was. The rule: a forecast says what it was reckoned
from, and there is none where the trend is no growth."""

from __future__ import annotations

import os

from . import _lanes, _text

_STEP_WORDS = {"step": "step", "optimizer": "optimizer step", "range": "range", "module": "module call"}


def state_cell(view: dict) -> str:
    if "error" in view:
        return "unreadable"
    if view["state"] == "ended":
        return f"ended {view['exit_status']}"
    unsure = view["alive"] is None and view.get("pid_here") is None and view["state"] in _lanes.RUNNING
    return view["state"] + ("?" if unsure else "")


_MOST_STEPS = 99999


def full_cell(trend: dict | None, letters: _text.Letters) -> str:
    if not trend or trend["full_in_steps"] is None:
        return letters.dash
    about = "<" if trend["full_from"] == "point" else letters.about
    steps = trend["full_in_steps"]
    return f">{_MOST_STEPS:,}" if steps > _MOST_STEPS else f"{about}{steps:,}"


def trend_sentence(device: dict, letters: _text.Letters) -> str:
    trend = device["trend"]
    if trend is None:
        return "not known: no comparable steps yet"
    word = _STEP_WORDS.get(trend["family"], "step")
    over = f"{_text.change(trend['bytes_per_step'], letters)} a {word} over {_text.counted(trend['steps_count'], word)}"
    if not trend["growing"]:
        return f"{over}: not called growth"
    if trend["full_in_steps"] is None:
        return f"{over}: growth; what is left is not known"
    if trend["full_from"] == "peak":
        left = device["available_bytes"] - device["peak_active_bytes"]
        return f"{over}: full in about {_text.counted(trend['full_in_steps'], word)}, {_text.size(left, letters)} above the peak so far"
    return f"{over}: full in less than about {_text.counted(trend['full_in_steps'], word)}, the peak within one not counted in"


def verdict_words(verdict: dict) -> str:
    if verdict["primary"]:
        return f"out of memory: {verdict['primary'].replace('_', '-')}"
    return "out of memory: the evidence does not name one cause"


def command_for(view: dict) -> str:
    return f"memsnap-replay {os.path.relpath(view['file']) if view['file'].startswith(os.getcwd() + os.sep) else view['file']}"


def state_sentence(view: dict, pid: int | None, verdict: dict | None) -> str:
    """What became of the job, and what one can do about it. Empty: it records and nothing has happened."""
    failures = view["failures_count"]
    failed = _text.counted(failures, "failed allocation") if failures else ""
    why = f"{verdict_words(verdict)}; read it: {command_for(view)}" if verdict else f"read it: {command_for(view)}"
    state = view["state"]
    if state == "ended":
        return f"ended with exit status {view['exit_status']}" + (f" after {failed}; {why}" if failed else ", no allocation failed")
    if state == "killed":
        return f"gone without its end being seen (killed, or _exit){f' after {failed}' if failed else ''}; {why}"
    if state in _lanes.DORMANT:
        kept = "nothing is kept" if state == "cold" else "what was recorded stays"
        if not _lanes.runs(view):
            return f"{state}, and the process is gone" + (f"; {failed}: {why}" if failed else "")
        return f"{state}, {kept}; to record: memsnap arm {pid}" + (f"; {failed}: {why}" if failed else "")
    if state == "standby":
        return f"standby, what is live is kept without events; to record: memsnap arm {pid}" + (f"; {failed}: {why}" if failed else "")
    return f"{failed} so far; {why}" if failed else ""
