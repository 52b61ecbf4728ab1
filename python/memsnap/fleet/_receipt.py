# SPDX-License-Identifier: Apache-2.0
"""A receipt's text, verified: its version, its canonical form (RFC 8785) and both digests, before anything of it is used. The rule: a text either
is a receipt or is rejected with a reason; no text, however large or deep, ends the program."""

from __future__ import annotations

import hashlib
import json
import re

from ._checks import Rejected

TEXT_AT_MOST_BYTES = 32 << 20
RECEIPT, JOB = "memsnap.receipt.v1", "memsnap.job.v1"
_WHOLE = {RECEIPT: "receipt", JOB: "job"}  # the member of `digest` that covers all but the members below
_SCHEMA = re.compile(r"memsnap\.[a-z_]{1,32}\.v[0-9]{1,4}(\.[0-9]{1,4})?\Z")
_OUTSIDE_THE_DIGEST = ("digest", "times", "names")


class NotOurs(Exception):
    """A document that is not memsnap's, or of a kind that a lake does not keep."""


def _no_fraction(_text):
    raise Rejected("number", "a fraction or an exponent")


def canonical(value) -> str:
    """RFC 8785 of what a receipt is made of: ASCII keys, integers, texts, truth values and null."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse(data: bytes) -> dict:
    """The object in `data`. Raises Rejected."""
    if len(data) > TEXT_AT_MOST_BYTES:
        raise Rejected("too_large", f"more than {TEXT_AT_MOST_BYTES >> 20} MiB")
    try:
        document = json.loads(data.decode("utf-8"), parse_float=_no_fraction, parse_constant=_no_fraction)
    except UnicodeDecodeError as error:
        raise Rejected("not_json", f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Rejected("not_json", f"at character {error.pos}") from None
    except (RecursionError, MemoryError):
        raise Rejected("too_deep") from None
    except ValueError:
        raise Rejected("number", "an integer of thousands of digits") from None
    if not isinstance(document, dict):
        raise NotOurs
    return document


def schema_of(document: dict) -> str:
    """The name and major version of a memsnap document, such as memsnap.receipt.v1. Raises NotOurs."""
    schema = document.get("schema")
    if not isinstance(schema, str) or not _SCHEMA.match(schema):
        raise NotOurs
    return ".".join(schema.split(".")[:3])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _joined(members: dict[str, str]) -> str:
    return "{" + ",".join(f"{canonical(key)}:{text}" for key, text in sorted(members.items())) + "}"


def verify(document: dict, data: bytes) -> str:
    """That `document`, parsed from `data`, is of a version we know, canonical, with the digests that it states. Returns the digest that tells it from
    any other. Raises Rejected."""
    schema = schema_of(document)
    if schema not in _WHOLE:
        raise Rejected("version", "another major version: update memsnap")
    digest = document.get("digest")
    if not isinstance(digest, dict):
        raise Rejected("type", "digest")
    if digest.get("algorithm") != "sha256":
        raise Rejected("digest_algorithm")
    try:
        members = {key: canonical(value) for key, value in document.items()}
        if _joined(members).encode("utf-8") != data:
            raise Rejected("not_canonical")
    except (UnicodeEncodeError, RecursionError, ValueError):
        raise Rejected("not_canonical") from None
    if schema == RECEIPT:
        if not isinstance(document.get("evidence"), dict):
            raise Rejected("type", "evidence")
        if digest.get("evidence") != _digest(members["evidence"]):
            raise Rejected("digest_evidence")
    whole = _digest(_joined({key: text for key, text in members.items() if key not in _OUTSIDE_THE_DIGEST}))
    if digest.get(_WHOLE[schema]) != whole:
        raise Rejected(f"digest_{_WHOLE[schema]}")
    return whole


def sealed(members: dict[str, str]) -> bytes:
    """The receipt of these members, each given as its canonical text, with the digests made of them."""
    covered = {key: text for key, text in members.items() if key not in _OUTSIDE_THE_DIGEST}
    digest = {"algorithm": "sha256", "evidence": _digest(members["evidence"]), "receipt": _digest(_joined(covered))}
    return _joined({**members, "digest": canonical(digest)}).encode("utf-8")
