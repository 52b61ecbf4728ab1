# SPDX-License-Identifier: Apache-2.0
"""The terminal view as lines of text, for any size. The rule: it is made of what was read and the size alone, so it looks the same on a terminal, in
a pipe and in a test; where there is little room sites give way first, then rows."""

from __future__ import annotations

import dataclasses
import textwrap

from . import _lanes, _sentences, _text

PLAIN, TITLE, HEAD, SELECTED, ALERT, FAINT = "plain", "title", "head", "selected", "alert", "faint"

_LANE_NAMES = ("active", "cached", "outside", "others", "free")
_LANE_MEANINGS = (
    "tensors in use",
    "held by PyTorch, not in use",
    "contexts, modules, other libraries",
    "other processes",
    "on the device",
)
_HELP = (
    "up, down, j, k   select a row",
    "s                sort by the next of: margin, full in, active, rank, pid",
    "space            read now",
    "q                quit",
    "",
    "ACTIVE   GiB of live tensors; RESVD: with what PyTorch holds besides",
    "MARGIN   what PyTorch may still use: free and reserved, less active",
    "A STEP   change of active from one comparable step to the next",
    "FULL IN  steps until that fills the margin; only of a trend that is growth",
    "CARD     active, cached, outside, others, free, from left to right",
)


@dataclasses.dataclass(frozen=True)
class Line:
    text: str
    style: str = PLAIN


@dataclasses.dataclass
class State:
    """What the user chose, and what was seen earlier."""

    history: _lanes.History = dataclasses.field(default_factory=_lanes.History)
    sort: str = "margin"
    selected: tuple | None = None
    help: bool = False

    def chosen(self, rows: list) -> int:
        """The place of the selected row; of the first where it is not there."""
        return next((place for place, row in enumerate(rows) if row.key == self.selected), 0)


@dataclasses.dataclass(frozen=True)
class _Columns:
    """Widths of what a row has room for; 0: no room."""

    reserved: int
    bar: int
    curve: int


_FIXED = 66  # columns of a row beside those
_NO_BOUND = 1 << 20


def _columns(width: int) -> _Columns:
    spare = max(0, width - _FIXED)
    if spare < 32:
        return _Columns(0, spare, 0)
    spare -= 7
    bar = min(24, spare // 2)
    return _Columns(6, bar, spare - bar - 1)


def _line_of(cells: dict, columns: _Columns) -> str:
    text = "{pid:>7} {rank:>4} {gpu:>3} {state:<10}{fail:>5} {active:>6}".format(**cells)
    text += f" {cells['reserved']:>6}" if columns.reserved else ""
    text += " {margin:>6} {step:>10} {full:>7}".format(**cells)
    text += f" {cells['bar'][: columns.bar]:<{columns.bar}}" if columns.bar else ""
    return text + (f" {cells['curve'][: columns.curve]:>{columns.curve}}" if columns.curve else "")


def _head(columns: _Columns) -> Line:
    names = ("pid", "rank", "gpu", "state", "fail", "active", "margin")
    cells = {name: name.upper() for name in names} | {"reserved": "RESVD", "step": "A STEP", "full": "FULL IN", "bar": "CARD", "curve": "ACTIVE OVER TIME"}
    return Line(_line_of(cells, columns), HEAD)


def _row_text(row: _lanes.Row, columns: _Columns, state: State, letters: _text.Letters) -> str:
    view, device = row.view, row.device
    cells = dict.fromkeys(("pid", "rank", "gpu", "fail", "active", "reserved", "margin", "step", "full"), letters.dash) | {"bar": "", "curve": ""}
    cells["state"] = _sentences.state_cell(view)
    told = {"pid": row.pid, "rank": view.get("rank"), "fail": view.get("failures_count") or None, "gpu": row.number("device")}
    cells |= {name: value for name, value in told.items() if value is not None}
    if device is not None:
        for name in ("active", "reserved", "margin"):
            cells[name] = _text.gib(device[f"{name}_bytes"], letters)
        lanes = _lanes.lanes_of(device)
        if lanes:
            cells["bar"] = _text.bar(lanes.parts(), device["total_bytes"], columns.bar, letters)
        most = max(device["peak_active_bytes"] or 0, device["active_bytes"] or 0)
        cells["curve"] = _text.curve(state.history.of(row), most, columns.curve, letters)
        cells["full"] = _sentences.full_cell(row.trend, letters)
        if row.trend:
            cells["step"] = _text.change(row.trend["bytes_per_step"], letters)
    return _line_of(cells, columns)


def _title(views: list, state: State, width: int, letters: _text.Letters) -> Line:
    counts = {}
    for view in views:
        word = "unreadable" if "error" in view else view["state"]
        counts[word] = counts.get(word, 0) + 1
    told = ", ".join(f"{count} {word}" for word, count in counts.items()) or "no recording found"
    left, right = f"memsnap top  {told}", f"by {state.sort}, GiB"
    return Line(left + right.rjust(max(len(right) + 1, width - len(left))), TITLE)


def _wrapped(begin: str, sentence: str, width: int) -> list:
    """Lines of a sentence, those behind the first under its own begin."""
    indent = " " * len(begin)
    return textwrap.wrap(sentence, width, initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False)


def _card_lines(row: _lanes.Row, state: State, width: int, letters: _text.Letters) -> list:
    device = row.device
    lanes = _lanes.lanes_of(device)
    peaks = {"active": device["peak_active_bytes"], "cached": None}
    lines = []
    if lanes:
        columns = max(10, width - 60)
        for number, (name, bytes_, meaning) in enumerate(zip(_LANE_NAMES, lanes.parts(), _LANE_MEANINGS)):
            cells = max(1, columns * bytes_ // max(1, device["total_bytes"])) if bytes_ else 0
            peak = f"peak {_text.gib(peaks[name], letters)}, " if peaks.get(name) is not None else ""
            asked = f", {_text.age(device['device_age_ns'])} ago" if name == "free" and device["device_age_ns"] is not None else ""
            lines.append(f"  {name:<8}{_text.size(bytes_, letters):>11}  {(letters.lanes[number] * min(cells, columns)).ljust(columns)}  {peak}{meaning}{asked}")
        cap = f", limited to {_text.size(device['cap_bytes'], letters)}" if device["cap_bytes"] is not None else ""
        margin = f"{_text.size(device['available_bytes'], letters)} available {letters.minus} {_text.size(device['active_bytes'], letters)} active{cap}"
        lines.append(f"  {'margin':<8}{_text.size(device['margin_bytes'], letters):>11}  = {margin}")
    else:
        held = f"{_text.size(device['active_bytes'], letters)} of {_text.size(device['reserved_bytes'], letters)} reserved"
        lines += _wrapped(f"  {'active':<8}", f"{held}; the card was not asked, so what is left is not known", width)
    lines += _wrapped(f"  {'a step':<8}", _sentences.trend_sentence(device, letters), width)
    values = state.history.of(row)
    if len(values) > 1:
        lines.append(f"  {'before':<8}{_text.curve(values, max(device['peak_active_bytes'] or 0, *values), min(len(values), width - 12), letters).strip()}")
    return lines


def _site_lines(device: dict, room: int, width: int, letters: _text.Letters) -> list:
    if room < 2 or not device["sites"]:
        return []
    lines = [Line(f"  {'bytes':>14}{'blocks':>9}  live blocks by birth site", HEAD)]
    for site in device["sites"][: room - 1]:
        where = site.get("label") or site["token"] or f"blocks of {_text.size(site['block_bytes'], letters)}, no stack"
        amounts = f"{_text.size(site['bytes'], letters):>14}{site['blocks_count']:>9,}  "
        lines.append(Line(f"  {amounts}{_text.cut(_text.printable(where, letters), max(10, width - 29))}"))
    return lines


def _detail(row: _lanes.Row, state: State, verdict: dict | None, room: int, width: int, letters: _text.Letters) -> list:
    """Of the selected row, in at most so many lines."""
    view = row.view
    name = _text.printable(view["shown"], letters)
    if "error" in view:
        lines = [Line(_text.cut_left(name, width), HEAD), Line(f"  {_text.printable(view['error']['detail'], letters)}", ALERT)]
        return lines[:room]
    device = row.device
    rank = "" if view["rank"] is None else f", rank {view['rank']}" + (f" of {view['world_size']}" if view["world_size"] else "")
    card = "" if device is None else f"cuda:{device['device']} {_text.size(device['total_bytes'], letters)}, "
    begin = f"{card}pid {row.pid}{rank}  "
    lines = [Line(begin + _text.cut_left(name, width - len(begin)), HEAD)]
    sentence = _sentences.state_sentence(view, row.pid, verdict)
    if sentence:
        style = ALERT if view["failures_count"] else PLAIN
        lines += [Line(text, style) for text in _wrapped("  ", _text.printable(sentence, letters), width)]
    if view["counters"].get("lost") or view["trouble"] != "none":
        lines.append(Line(f"  the recording is not complete: {_text.counted(view['counters'].get('lost', 0), 'event')} lost, trouble: {view['trouble']}", ALERT))
    if device is not None:
        lines += [Line(text) for text in _card_lines(row, state, width, letters)]
        lines += _site_lines(device, room - len(lines), width, letters)
    return lines[:room]


def _shown_rows(count: int, chosen: int, room: int) -> range:
    """As many as there is room for, the chosen one among them."""
    first = min(max(0, chosen - room // 2), max(0, count - room))
    return range(first, min(count, first + room))


def overview(views: list, rows: list, state: State, width: int, letters: _text.Letters) -> list:
    """All rows under their heads, as text."""
    columns = _columns(width)
    lines = [_title(views, state, width, letters).text, _head(columns).text, *(_row_text(row, columns, state, letters) for row in rows)]
    return [_text.cut(line.rstrip(), width) for line in lines]


def part_of(row: _lanes.Row, state: State, verdict: dict | None, width: int, letters: _text.Letters) -> list:
    """Everything about one row, as text."""
    lines = _detail(row, state, verdict, _NO_BOUND, width, letters)
    return [_text.cut(line.text.rstrip(), width) for line in lines]


def draw(views: list, verdict: dict | None, state: State, width: int, height: int, letters: _text.Letters) -> list:
    """The lines of the screen, at most `height`, each at most `width` columns. `verdict`: of the selected recording."""
    rows = _lanes.sorted_rows(_lanes.rows_of(views), state.sort)
    columns = _columns(width)
    lines = [_title(views, state, width, letters), _head(columns)]
    chosen = state.chosen(rows)
    body = height - len(lines) - 1
    shown = _shown_rows(len(rows), chosen, min(len(rows), max(1, body - 11, body // 3)))
    for place in shown:
        failed = rows[place].view.get("failures_count") or "error" in rows[place].view
        style = SELECTED if place == chosen else ALERT if failed else PLAIN
        lines.append(Line(_row_text(rows[place], columns, state, letters), style))
    if len(shown) < len(rows):
        lines.append(Line(f"  {len(rows) - len(shown)} more rows", FAINT))
    lines.append(Line(""))
    room = max(0, height - 1 - len(lines))
    if state.help:
        lines += [Line(f"  {text}") for text in _HELP[:room]]
    elif rows:
        lines += _detail(rows[chosen], state, verdict, room, width, letters)
    lines += [Line("")] * (height - 1 - len(lines))
    lines = [*lines[: height - 1], Line("q quit   ? help   up/down select   s sort   space read now", FAINT)]
    return [Line(_text.cut(line.text.rstrip(), width), line.style) for line in lines[:height]]
