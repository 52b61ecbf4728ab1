# SPDX-License-Identifier: Apache-2.0
"""A verified receipt as one row of the lake. The rule: what the receipt states is copied through its check; what is made here is made of such values
alone, by the same rule in every engine."""

from __future__ import annotations

import datetime
import hashlib

from . import _columns
from ._checks import Rejected, number, token, word
from ._receipt import canonical

# The qualifiers that are themselves the answer, where no hypothesis is primary (VERDICT.md).
ANSWERS = ("deferred_free", "fit_ignored", "driver_refused", "cache_hoarding", "cache_pinned")
HYPOTHESES = ("live_set", "retention", "fragmentation", "external")
INCIDENT = (10, 11)  # exit status of the replay
_LIST_AT_MOST = 65536


def _at(document, path):
    for key in path:
        if document is None:
            return None
        if type(document) is not dict:
            raise TypeError
        document = document.get(key)
    return document


def copied(columns, document, where: str = "") -> dict:
    row = {}
    for column in columns:
        if column.path is None:
            continue
        try:
            row[column.name] = column.check(_at(document, column.path))
        except (TypeError, ValueError):
            raise Rejected("type", where + ".".join(column.path)) from None
    return row


def rows_at(document, path: str) -> list:
    try:
        found = _at(document, path.split("."))
    except TypeError:
        raise Rejected("type", path) from None
    if found is None:
        return []
    if type(found) is not list or any(type(one) is not dict for one in found):
        raise Rejected("type", path)
    if len(found) > _LIST_AT_MOST:
        raise Rejected("too_long", path)
    return found


def short_hash(value) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()[:32]


def _names(document, kind: str, key: str) -> dict[int, dict]:
    """Of the dictionary's list `kind`: ordinal -> token, scope and word."""
    found = {}
    path = f"dictionary.{kind}"
    for entry in rows_at(document, path):
        try:
            phase_word = entry.get("word")
            found[number(entry.get(key))] = {
                "token": token(entry.get("token")),
                "scope": word(entry.get("scope")),
                "word": None if phase_word is None else word(phase_word),
            }
        except TypeError:
            raise Rejected("type", path) from None
    return found


_NO_NAME = {"token": None, "scope": None, "word": None}


def _sites(document) -> list[dict]:
    tokens, phases = _names(document, "sites", "site"), _names(document, "phases", "phase")
    survivors = {}
    path = "evidence.growth.survivors"
    for survivor in rows_at(document, path):
        try:
            survivors[number(survivor.get("site"))] = number(survivor.get("bytes")), number(survivor.get("bytes_per_step"))
        except TypeError:
            raise Rejected("type", path) from None
    rows = []
    for site in rows_at(document, "evidence.sites"):
        row = copied(_columns.SITE, site, "evidence.sites.")
        if row["site"] is None or row["bytes"] is None:
            raise Rejected("type", "evidence.sites")
        name = tokens.get(row["site"], _NO_NAME)
        row["token"], row["scope"] = name["token"], name["scope"]
        phase = site.get("phase")
        row["phase_word"] = phases.get(phase, _NO_NAME)["word"] if type(phase) is int else None
        row["survivor_bytes"], row["survivor_bytes_per_step"] = survivors.get(row["site"], (None, None))
        rows.append(row)
    return rows


def _libraries(document) -> list[dict]:
    tokens = _names(document, "libraries", "library")
    rows = []
    for library in rows_at(document, "evidence.libraries"):
        row = copied(_columns.LIBRARY, library, "evidence.libraries.")
        ordinal = library.get("library")
        row["token"] = tokens.get(ordinal, _NO_NAME)["token"] if type(ordinal) is int else None
        rows.append(row)
    return rows


def _hypotheses(document) -> list[dict]:
    try:
        judged = _at(document, ("verdict", "hypotheses"))
        found = [(name, _at(judged, (name,))) for name in HYPOTHESES]
    except TypeError:
        raise Rejected("type", "verdict.hypotheses") from None
    return [{"hypothesis": name, **copied(_columns.HYPOTHESIS, one, f"verdict.hypotheses.{name}.")} for name, one in found if one is not None]


def _card_bytes(document):
    """The size of the failing device; without an incident that of the first device whose size is known."""
    try:
        found = _at(document, ("evidence", "ledgers", "total_bytes"))
        if found is None and _at(document, ("evidence", "failure")) is None:
            totals = (one.get("total_bytes") for path in ("holders", "shapes") for one in rows_at(document, f"evidence.{path}"))
            found = next((total for total in totals if total is not None), None)
        return None if found is None else number(found)
    except TypeError:
        raise Rejected("type", "evidence.ledgers.total_bytes") from None


def class_of(exit_status, primary, qualifiers):
    """Of a verdict: the primary hypothesis, else the qualifier that answers, else undecided; None without an incident."""
    if exit_status not in INCIDENT:
        return None
    if primary is not None:
        return primary
    return next((answer for answer in ANSWERS if answer in (qualifiers or ())), "answered") if exit_status == 10 else "undecided"


def _allocator(row: dict):
    """The configuration as PYTORCH_CUDA_ALLOC_CONF would say it, options that are off left out."""
    if not row["allocator_known"]:
        for name in (
            "backend",
            "expandable_segments",
            "caching_disabled",
            "max_split_size_bytes",
            "gc_threshold_permille",
            "roundup_power2_divisions",
        ):
            row[name] = None
        return None
    parts = [row["backend"] or "unknown"]
    parts += ["expandable_segments"] if row["expandable_segments"] else []
    parts += ["no_caching"] if row["caching_disabled"] else []
    for name, short in (("max_split_size_bytes", "max_split"), ("gc_threshold_permille", "gc"), ("roundup_power2_divisions", "roundup")):
        parts += [f"{short}={row[name]}"] if row[name] is not None else []
    return " ".join(parts)


def day_of(*times_ns):
    """In UTC, of the first time that is known."""
    time_ns = next((time_ns for time_ns in times_ns if time_ns is not None), None)
    if time_ns is None:
        return None
    try:
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=time_ns // 1_000_000_000)).date()
    except OverflowError:
        raise Rejected("type", "times") from None


def _case(document, row: dict) -> str:
    """The same for all receipts of one failure: of what tells this failure from any other, not of what they tell about it. A receipt of a
    recording without clock or failure is a case of its own."""
    if row["failure_unix_ns"] is None:
        return row["receipt_id"]
    return short_hash([row["failure_unix_ns"], row["rank"], row["world_size"], document["evidence"].get("failure")])


def row_of(document: dict, source_sha256: str, labels: dict) -> dict:
    """The row of a verified receipt. `labels`: job, device_model, cohort. Raises Rejected where a value is not what its column may hold."""
    row = copied(_columns.RECEIPTS, document)
    row["receipt_id"] = short_hash([row["receipt_digest"], *(row[column.name] for column in _columns.TIMES)])
    row["case_id"] = _case(document, row)
    row["source_sha256"] = source_sha256
    row["day"] = day_of(row["failure_unix_ns"], row["last_record_unix_ns"])
    row.update(labels)
    row["has_incident"] = row["replay_exit_status"] in INCIDENT
    row["class"] = class_of(row["replay_exit_status"], row["primary"], row["qualifiers"])
    row["allocator"] = _allocator(row)
    row["card_bytes"] = _card_bytes(document)
    row["hypotheses"] = _hypotheses(document)
    row["sites"] = _sites(document)
    row["near_misses"] = [copied(_columns.NEAR_MISS, one, "evidence.near_misses.") for one in rows_at(document, "evidence.near_misses")]
    row["libraries"] = _libraries(document)
    survivors = [site for site in row["sites"] if site["survivor_bytes"] is not None] if row["class"] == "retention" else []
    top = max(survivors, key=lambda site: site["survivor_bytes"]) if survivors else row["sites"][0] if row["sites"] else None
    row["top_site_token"], row["top_site_scope"], row["top_site_bytes"] = (top["token"], top["scope"], top["bytes"]) if top else (None, None, None)
    row["keyed_site_count"] = sum(site["scope"] == "key" for site in row["sites"])
    return row
