# SPDX-License-Identifier: Apache-2.0
"""`memsnap fleet simulate`: the receipts and ledgers of a fleet whose truth is known. The rule: every verdict in it is one that memsnap-replay gave a
recording that memsnap-encode made; only who and when is replaced (rank, versions, times, tokens), and the digests are made anew."""

from __future__ import annotations

import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile

from . import _receipt, _simulated_jobs
from ._simulated_jobs import Job

# Ending -> the case of fixtures/ that ends so, and what memsnap-replay must find in it.
CASES = {
    "live_set": "live_set",
    "retention": "retention",
    "fragmentation": "fragmentation_strict",
    "external": "external",
    "cache_hoarding": "cache_hoarding",
    "deferred_free": "deferred_free",
    "driver_refused": "driver_refused",
    "undecided": "fit_unexplained",
    "near_miss": "recovered",
    "well": "carried_back",
}
_ADDED = {"near_miss": "mem_info total=1GiB free=10MiB\n"}  # the program asks for its card
_ANSWERS = ("cache_hoarding", "deferred_free", "driver_refused")
_DAY_NS = 86_400 * 10**9
TRUTH_SCHEMA = "memsnap.truth.v1"


class Unable(Exception):
    """There is nothing to make the fleet of; the text says what is missing."""


def _scaled(text: str, times: int) -> str:
    return re.sub(r"\b([0-9]+)((?:Ki|Mi|Gi)B)\b", lambda found: f"{int(found[1]) * times}{found[2]}", text)


def _found(receipt: dict) -> str:
    """How the recording ended, as memsnap-replay sees it."""
    verdict, near_misses = receipt["verdict"], receipt["evidence"]["near_misses"]
    if verdict["exit_status"] == 0:
        return "near_miss" if near_misses else "well"
    answer = next((one for one in _ANSWERS if one in verdict["qualifiers"]), None)
    return verdict["primary"] or (answer if verdict["exit_status"] == 10 else "undecided")


class Bases:
    """One real receipt and ledger for each ending, card and allocator; the members that never change are kept as text."""

    def __init__(self, encode: str, replay: str, fixtures: str):
        self._programs, self._fixtures, self._made = (encode, replay), pathlib.Path(fixtures), {}

    def of(self, job: Job, ending: str):
        key = ending, job.card_gib, job.expandable
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def _make(self, ending: str, card_gib: int, expandable: bool):
        try:
            text = (self._fixtures / CASES[ending] / "events.txt").read_text() + _ADDED.get(ending, "")
        except OSError as error:
            raise Unable(f"{error.filename}: {error.strerror}; name the fixtures of memsnap's source tree with --fixtures") from None
        first, _, rest = text.partition("\n")
        context_mib = self._context_bytes(text) >> 20
        lines = [first, *(["header expandable"] if expandable else ())]
        if card_gib > 1 and context_mib:  # a context does not grow with its card: tensors take the difference
            lines += [f"segment larger {context_mib * (card_gib - 1)}MiB", f"alloc larger_w larger+0 {context_mib * (card_gib - 1)}MiB site=1"]
        document, ledger = self._replayed("\n".join([*lines, _scaled(rest, card_gib)]))
        if _found(document) != ending:
            raise Unable(f"the case {CASES[ending]} with a card of {card_gib} GiB is {_found(document)}, not {ending}")
        constant = {
            key: _receipt.canonical(value)
            for key, value in document.items()
            if key not in ("environment", "dictionary", "times", "references", "digest")
        }
        return document, constant, ledger

    def _context_bytes(self, text: str) -> int:
        holders = self._replayed(text)[0]["evidence"]["holders"]
        return next((one["unattributed_bytes"] for one in holders if one["instant"] == "failure" and one["unattributed_bytes"]), 0)

    def _replayed(self, text: str) -> tuple[dict, bytes]:
        """The receipt and the ledger of a recording of these events."""
        encode, replay = self._programs
        with tempfile.TemporaryDirectory() as folder:
            ring, receipt, ledger = (os.path.join(folder, name) for name in ("ring.bin", "receipt.json", "ledger.csv"))
            done = subprocess.run([encode, "-", ring], input=text, text=True, capture_output=True)
            if done.returncode:
                raise Unable(f"{encode}: {done.stderr.strip()}")
            done = subprocess.run([replay, ring, "--json", receipt, "--csv", ledger], text=True, capture_output=True)
            if done.returncode not in (0, 10, 11):
                raise Unable(f"{replay}: {done.stderr.strip()}")
            return json.loads(pathlib.Path(receipt).read_text()), pathlib.Path(ledger).read_bytes()


def _top_site(document: dict) -> int | None:
    """The ordinal that an incident is counted for (docs/fleet.md)."""
    evidence = document["evidence"]
    if not evidence["sites"]:
        return None
    survivors = evidence["growth"]["survivors"] if document["verdict"]["primary"] == "retention" else []
    return survivors[0]["site"] if survivors else evidence["sites"][0]["site"]


class _Writer:
    def __init__(self, folder: str, bases: Bases, seed: int):
        self._folder, self._bases, self._seed = folder, bases, seed
        self.receipts = self.ledgers = 0

    def _site_name(self, job: Job, ordinal: int, top: int | None) -> str:
        if job.ending == "retention" and ordinal == top:
            return "leak" if job.model == _simulated_jobs.LEAKING_MODEL else f"leak of model {job.model}"
        return f"model {job.model} site {ordinal}"

    def rank(self, job: Job, rank: int, ending: str):
        """Writes what a rank left; returns the token its incident is counted for."""
        document, constant, ledger = self._bases.of(job, ending)
        top = _top_site(document) if rank in job.failing else None
        tokens = {
            entry["site"]: _simulated_jobs.site_token(self._seed, self._site_name(job, entry["site"], top))
            for entry in document["dictionary"]["sites"]
        }
        environment = {**document["environment"], "rank": rank, "world_size": job.world_size, "torch_version": job.torch_version}
        dictionary = {**document["dictionary"], "sites": [{"site": site, "token": token, "scope": "key"} for site, token in tokens.items()]}
        start_ns = job.day * _DAY_NS + job.start_second * 10**9
        order = job.failing.index(rank) if rank in job.failing else 0
        failure_ns = start_ns + 3600 * 10**9 + order * 1_000_003 if rank in job.failing else None
        end_ns = (failure_ns or start_ns + 3700 * 10**9) + 1_000 + rank
        times = {"failure_unix_ns": failure_ns, "first_record_unix_ns": start_ns + rank, "last_record_unix_ns": end_ns}
        members = {**constant, "environment": _receipt.canonical(environment), "dictionary": _receipt.canonical(dictionary)}
        folder = os.path.join(self._folder, "receipts", job.name)
        os.makedirs(folder, exist_ok=True)
        stem = os.path.join(folder, f"rank-{rank}")
        self._write(f"{stem}.json", members, times, [])
        if job.failing and rank == job.failing[0]:
            with open(f"{stem}.csv", "wb") as file:
                file.write(ledger)
            self.ledgers += 1
        if rank in job.told_twice:
            self._write(f"{stem}-again.json", members, times, [{"kind": "log", "sha256": f"{rank:064x}", "size_bytes": 1}])
        return tokens.get(top)

    def _write(self, path: str, members: dict, times: dict, references: list) -> None:
        times = {name: value if value is None else str(value) for name, value in times.items()}
        with open(path, "wb") as file:
            file.write(_receipt.sealed({**members, "times": _receipt.canonical(times), "references": _receipt.canonical(references)}))
        self.receipts += 1


def _day(days: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()


class _Truth:
    """What a report of the fleet must say, counted as the fleet is made and by nothing that reads it."""

    _DIMENSIONS = ("device", "torch_version", "allocator")

    def __init__(self):
        self.totals = collections.Counter()
        self.classes, self.class_jobs = collections.Counter(), collections.Counter()
        self.sites, self.days = collections.Counter(), collections.defaultdict(lambda: [0, 0])
        self.by = {name: collections.defaultdict(lambda: [0, 0, 0, 0]) for name in self._DIMENSIONS}

    def take(self, job: Job, tokens: list) -> None:
        incidents = len(job.failing)
        self.totals.update(
            runs=job.world_size, jobs=1, incidents=incidents, incident_jobs=int(incidents > 0), near_miss_runs=int(job.ending == "near_miss")
        )
        self.days[_day(job.day)][0] += job.world_size
        self.days[_day(job.day)][1] += incidents
        values = {
            "device": f"{job.card_gib}.00 GiB card",
            "torch_version": job.torch_version,
            "allocator": "native expandable_segments" if job.expandable else "native",
        }
        for name, value in values.items():
            for index, number in enumerate((job.world_size, incidents, 1, int(incidents > 0))):
                self.by[name][value][index] += number
        if incidents:
            self.classes[job.ending] += incidents
            self.class_jobs[job.ending] += 1
            self.sites.update(tokens)

    def document(self, seed: int, rank_count: int, writer: _Writer) -> dict:
        return {
            "schema": TRUTH_SCHEMA,
            "seed": seed,
            "ranks": rank_count,
            "files": {"receipts": writer.receipts, "ledgers": writer.ledgers},
            "totals": {**dict.fromkeys(("runs", "jobs", "incidents", "incident_jobs", "near_miss_runs"), 0), **self.totals},
            "class": {name: {"incidents": count, "jobs": self.class_jobs[name]} for name, count in sorted(self.classes.items())},
            "by": {
                name: {value: dict(zip(("runs", "incidents", "jobs", "incident_jobs"), numbers)) for value, numbers in sorted(rows.items())}
                for name, rows in self.by.items()
            },
            "site": dict(sorted(self.sites.items())),
            "day": {day: {"runs": runs, "incidents": incidents} for day, (runs, incidents) in sorted(self.days.items())},
            "planted": {
                "fragmentation": {"torch_version": _simulated_jobs.FRAGMENTING_TORCH},
                "live_set": {"device": f"{_simulated_jobs.SMALL_CARD_GIB}.00 GiB card"},
                "retention": {"site": _simulated_jobs.site_token(seed, "leak")},
            },
        }


def simulate(rank_count: int, folder: str, seed: int, bases: Bases, progress=lambda done, of: None) -> dict:
    """Writes the fleet below `folder` (receipts/, truth.json), which must not hold one yet. Returns the truth."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise Unable(f"{folder} is not empty: name another folder")
    writer, truth, planned = _Writer(folder, bases, seed), _Truth(), _simulated_jobs.jobs(rank_count, seed)
    for number, job in enumerate(planned, 1):
        tokens = []
        near_miss_rank = job.number % job.world_size
        for rank in range(job.world_size):
            ending = job.ending if rank in job.failing or (job.ending == "near_miss" and rank == near_miss_rank) else "well"
            token = writer.rank(job, rank, ending)
            if rank in job.failing:
                tokens.append(token)
        truth.take(job, tokens)
        progress(number, len(planned))
    document = truth.document(seed, rank_count, writer)
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    return document
