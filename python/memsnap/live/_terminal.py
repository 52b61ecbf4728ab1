# SPDX-License-Identifier: Apache-2.0
"""The terminal view on a terminal. The rule: the terminal is as before when it ends, whatever ended it; recordings are read beside the drawing, so
that a key is answered at once."""

from __future__ import annotations

import argparse
import concurrent.futures
import curses
import os
import signal
import time

from . import _lanes, _screen, _source, _text

_UP, _DOWN = (curses.KEY_UP, ord("k")), (curses.KEY_DOWN, ord("j"))
_QUIT, _HELP, _SORT, _NOW = (ord("q"), ord("Q")), (ord("?"), ord("h")), (ord("s"),), (ord(" "),)
_KEY_WAIT_MS = 100


class _Quit(Exception):
    """A signal asked for the end."""


def _styles() -> dict:
    """Attributes without colours, and one colour where colours are wanted."""
    alert = curses.A_BOLD
    if curses.has_colors() and not os.environ.get("NO_COLOR"):
        curses.start_color()
        curses.use_default_colors()
        curses.init_pair(1, curses.COLOR_RED, -1)
        alert |= curses.color_pair(1)
    return {
        _screen.PLAIN: curses.A_NORMAL,
        _screen.TITLE: curses.A_BOLD,
        _screen.HEAD: curses.A_BOLD,
        _screen.SELECTED: curses.A_REVERSE,
        _screen.ALERT: alert,
        _screen.FAINT: curses.A_DIM,
    }


class _View:
    def __init__(self, window, source: _source.Source, options: argparse.Namespace, letters: _text.Letters):
        self.window, self.source, self.options, self.letters = window, source, options, letters
        self.state = _screen.State(sort=options.sort)
        self.views = []
        self.problem = ""
        self.styles = _styles()

    def rows(self) -> list:
        return _lanes.sorted_rows(_lanes.rows_of(self.views), self.state.sort)

    def selected(self):
        rows = self.rows()
        return rows[self.state.chosen(rows)] if rows else None

    def read(self) -> list:
        """Beside the drawing. Names are for the selected recording; while none is, for all."""
        views = self.source.read()
        chosen = self.state.selected[0] if self.state.selected else None
        if not self.options.no_names:
            for view in [view for view in views if view["file"] == chosen] or views:
                self.source.add_labels(view)
        return views

    def take(self, views: list) -> None:
        self.views = views
        self.state.history.take(_lanes.rows_of(views))
        if self.state.selected is None and views:
            self.state.selected = self.rows()[0].key

    def draw(self) -> None:
        height, width = self.window.getmaxyx()
        row = self.selected()
        verdict = self.source.verdict(row.view) if row else None
        lines = _screen.draw(self.views, verdict, self.state, width - 1, height, self.letters)
        if self.problem:
            lines[0] = _screen.Line(_text.cut(self.problem, width - 1), _screen.ALERT)
        self.window.erase()
        for place, line in enumerate(lines):
            text = line.text.ljust(width - 1) if line.style == _screen.SELECTED else line.text
            try:
                self.window.addstr(place, 0, text, self.styles[line.style])
            except curses.error:  # the terminal became smaller meanwhile
                break
        self.window.refresh()

    def key(self, key: int) -> bool:
        """Whether recordings are to be read now."""
        rows = self.rows()
        move = -1 if key in _UP else 1 if key in _DOWN else 0
        if move and rows:
            self.state.selected = rows[min(max(0, self.state.chosen(rows) + move), len(rows) - 1)].key
        elif key in _SORT:
            names = list(_lanes.SORTS)
            self.state.sort = names[(names.index(self.state.sort) + 1) % len(names)]
        elif key in _HELP:
            self.state.help = not self.state.help
        return bool(move) or key in _NOW


def _loop(window, source: _source.Source, options: argparse.Namespace, letters: _text.Letters) -> None:
    try:
        curses.curs_set(0)
    except curses.error:
        pass  # this terminal's cursor cannot be hidden
    window.timeout(_KEY_WAIT_MS)
    view = _View(window, source, options, letters)
    reader = concurrent.futures.ThreadPoolExecutor(1, "memsnap-read")
    try:
        reading, next_look, wanted = reader.submit(view.read), time.monotonic() + options.interval, False
        while True:
            if reading and reading.done():
                try:
                    view.take(reading.result())
                    view.problem = ""
                except (_source.Unusable, OSError, ValueError) as problem:
                    view.problem = str(problem)
                reading = None
            view.draw()
            key = window.getch()
            if key in _QUIT:
                return
            wanted |= view.key(key)
            if reading is None and (wanted or time.monotonic() >= next_look):
                reading, next_look, wanted = reader.submit(view.read), time.monotonic() + options.interval, False
    finally:
        reader.shutdown(wait=False, cancel_futures=True)


def watch(source: _source.Source, options: argparse.Namespace, letters: _text.Letters) -> int:
    def quit_now(number, frame):
        raise _Quit

    os.environ.setdefault("ESCDELAY", "25")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, quit_now)
    try:
        curses.wrapper(_loop, source, options, letters)
    except _Quit:
        pass
    return 0
