# SPDX-License-Identifier: Apache-2.0
"""`memsnap fleet ingest|report|query|simulate`. Exit status: 0 done, 1 done and some files were rejected, 2 usage or a package is missing, 3 no
lake or another version, 5 input or output error, or the ingest was stopped."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import pathlib
import sys

from .. import _tools
from . import _checks

_REJECTED, _USAGE, _NO_LAKE, _STOPPED = 1, 2, 3, 5
_LABELS = ("job", "device_model", "cohort")
_SHOWN_REJECTIONS = 20
_NEEDED = {"duckdb": "fleet", "pyarrow": "fleet", "ray": "ray"}


class _Usage(Exception):
    pass


def _label(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    try:
        return (_LABELS[_LABELS.index(name)], _checks.label(value))
    except (ValueError, TypeError):
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(_LABELS)} = up to 64 letters, digits, dots, dashes or underscores") from None


def _day(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day: write 2026-04-30") from None


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 10_000_000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine", choices=("duckdb", "ray"), default="duckdb", help="this machine alone, or a Ray cluster; the results are the same"
    )
    parser.add_argument("--address", metavar="ADDRESS", help="the Ray cluster to join; without it one is started here and ended again")
    parser.add_argument("--workers", metavar="COUNT", type=_positive, help="processes, or Ray tasks at a time (default: the cores that are there)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from ._render import BY
    from ._sources import BATCH_FILES

    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    ingest = actions.add_parser("ingest", help="take receipts, event ledgers and recordings into a lake of Parquet files", allow_abbrev=False)
    ingest.add_argument("paths", nargs="+", metavar="DIR", help="folders or files; of folders everything below")
    ingest.add_argument("--to", required=True, metavar="LAKE", help="the lake's folder, made where it does not exist")
    ingest.add_argument(
        "--label",
        action="append",
        default=[],
        type=_label,
        metavar="NAME=VALUE",
        help="readable, of all that is taken: job, device_model, cohort; repeatable",
    )
    ingest.add_argument(
        "--token-key", metavar="FILE", help="for recordings: make tokens with the bytes of this file, equal in all of them (MEMSNAP_TOKEN_KEY_FILE)"
    )
    ingest.add_argument("--no-events", action="store_true", help="leave event ledgers out")
    ingest.add_argument(
        "--batch", type=_positive, metavar="COUNT", default=BATCH_FILES, help=f"files that are committed together (default: {BATCH_FILES})"
    )
    _add_engine(ingest)

    report = actions.add_parser(
        "report", help="incidents by class, device, version and site, their trend, and who has more than its share", allow_abbrev=False
    )
    report.add_argument("lake", metavar="LAKE")
    report.add_argument("--since", metavar="DAY", type=_day, help="from this day on, UTC")
    report.add_argument("--until", metavar="DAY", type=_day, help="up to and with this day")
    report.add_argument("--by", choices=sorted(BY), help="one table, whole")
    form = report.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything, as JSON")
    form.add_argument("--markdown", action="store_true", help="as Markdown")
    _add_engine(report)

    query = actions.add_parser("query", help="ask in SQL (DuckDB), read-only: runs, incidents, hypotheses, sites, events, …", allow_abbrev=False)
    query.add_argument("lake", metavar="LAKE")
    query.add_argument("sql", metavar="SQL")
    query.add_argument("--json", action="store_true", help="one object a row")
    query.add_argument("--workers", metavar="COUNT", type=_positive, help="threads")
    query.add_argument("--memory", metavar="SIZE", default="4GiB", help="most memory of the database (default: 4GiB)")

    simulate = actions.add_parser("simulate", help="write the receipts of a made-up fleet whose truth is known", allow_abbrev=False)
    simulate.add_argument("--ranks", type=_positive, default=10_000, metavar="COUNT")
    simulate.add_argument("--seed", type=_positive, default=1, metavar="NUMBER")
    simulate.add_argument("--to", required=True, metavar="DIR", help="an empty or new folder")
    simulate.add_argument("--fixtures", metavar="DIR", help="the fixtures of memsnap's source tree (default: beside this package)")
    simulate.add_argument("--encode", metavar="FILE", help="memsnap-encode (default: of the build tree)")


def _progress(what: str):
    def show(done: int, of: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{what} {done} of {of}", end="\n" if done == of else "", file=sys.stderr, flush=True)

    return show


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)


def _need(*packages: str) -> None:
    """Before anything is done: that what it takes is installed."""
    for package in packages:
        importlib.import_module(package)


def _ingest(options) -> int:
    _need("pyarrow", *(["ray.data"] if options.engine == "ray" else ()))
    from . import _ingest, _lake

    token_key = options.token_key or os.environ.get("MEMSNAP_TOKEN_KEY_FILE")
    if token_key and not os.path.isfile(token_key):
        raise _Usage(f"--token-key: there is no file {token_key}")
    try:
        replay = _tools.find(_tools.REPLAY)
    except _tools.Missing:
        replay = None  # said of each recording, where there is one
    labels = {**dict.fromkeys(_LABELS), **dict(options.label)}
    wishes = _ingest.Wishes(
        labels,
        replay,
        token_key and os.path.abspath(token_key),
        not options.no_events,
        options.engine,
        options.workers,
        options.address,
        options.batch,
    )
    done = _ingest.ingest(options.paths, _lake.Lake.create(options.to), wishes, _progress("batch"))
    counts = {name: done.counts.get(name, 0) for name in ("receipts", "ledgers", "events", "jobs", "already", "ignored")}
    ledgers = f"{counts['ledgers']} event ledgers of {counts['events']} events"
    print(f"{done.source_count} files: {counts['receipts']} receipts, {ledgers}, {counts['jobs']} job receipts")
    print(f"{counts['already']} were there already, {counts['ignored']} are not memsnap's or not asked for, {len(done.rejected)} rejected")
    failed = [(path, reason) for path, reason in done.unseen] + [
        (path, f"{reason}{f' ({detail})' if detail else ''}") for path, reason, detail in done.rejected
    ]
    for path, reason in failed[:_SHOWN_REJECTIONS]:
        print(f"memsnap fleet: {_printable(path)}: {reason}", file=sys.stderr)
    if len(failed) > _SHOWN_REJECTIONS:
        print(f"memsnap fleet: {len(failed) - _SHOWN_REJECTIONS} more", file=sys.stderr)
    return _REJECTED if failed else 0


def _report(options) -> int:
    _need("duckdb", "pyarrow", *(["ray.data"] if options.engine == "ray" else ()))
    from . import _counting, _lake, _render

    lake = _lake.Lake(options.lake)
    report = _counting.report(lake, options.since, options.until, options.engine, options.workers, options.address)
    if options.json:
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
    else:
        sys.stdout.write((_render.markdown if options.markdown else _render.terminal)(report, options.by))
    return 0


def _query(options) -> int:
    _need("duckdb", "pyarrow")
    from . import _lake, _query

    try:
        names, rows = _query.run(_lake.Lake(options.lake), options.sql, options.workers, options.memory)
        sys.stdout.write((_query.as_json if options.json else _query.as_text)(names, rows))
    except _query.Refused as error:
        raise _Usage(str(error)) from None
    return 0


def _simulate(options) -> int:
    from . import _simulate

    top = pathlib.Path(__file__).resolve().parents[3]
    encode, fixtures = options.encode or str(top / "build/fixtures/encode/memsnap-encode"), options.fixtures or str(top / "fixtures")
    if not os.path.isfile(encode):
        raise _Usage(f"there is no memsnap-encode at {encode}: it is built with memsnap's source tree; name it with --encode")
    try:
        bases = _simulate.Bases(encode, _tools.find(_tools.REPLAY), fixtures)
        truth = _simulate.simulate(options.ranks, options.to, options.seed, bases, _progress("job"))
    except (_simulate.Unable, _tools.Missing) as error:
        raise _Usage(str(error)) from None
    totals = truth["totals"]
    print(
        f"{totals['runs']} ranks of {totals['jobs']} jobs, {totals['incidents']} incidents; the truth is in {os.path.join(options.to, 'truth.json')}"
    )
    return 0


def run(options: argparse.Namespace) -> int:
    from . import _ingest as ingesting
    from . import _lake

    try:
        return {"ingest": _ingest, "report": _report, "query": _query, "simulate": _simulate}[options.action](options)
    except _Usage as error:
        return _told(str(error), _USAGE)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _NEEDED:
            raise
        return _told(f"{package} is not installed: pip install 'memsnap[{_NEEDED[package]}]'", _USAGE)
    except _lake.Unusable as error:
        return _told(str(error), _NO_LAKE)
    except ingesting.Stopped as error:
        return _told(f"{error}; what was committed stays, and the same command takes the rest", _STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _STOPPED
    except OSError as error:
        return _told(f"{error.filename}: {error.strerror}" if error.filename else str(error), _STOPPED)


def _told(text: str, status: int) -> int:
    print(f"memsnap fleet: {_printable(text)}", file=sys.stderr)
    return status
