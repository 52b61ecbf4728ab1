# SPDX-License-Identifier: Apache-2.0
"""Runs `memsnap-replay triage` on a text and reads what it says."""

import dataclasses
import json
import os
import pathlib
import subprocess

import jsonschema
import referencing

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
REPLAY = BUILD / "replay/memsnap-replay"
GiB, MiB = 1 << 30, 1 << 20


def validator() -> jsonschema.Draft202012Validator:
    schema, receipt = (json.loads((TOP / "docs" / f"{name}.schema.json").read_text()) for name in ("triage", "receipt"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, registry=referencing.Registry().with_resource("receipt.schema.json", referencing.Resource.from_contents(receipt)))


VALIDATOR = validator()


@dataclasses.dataclass
class Triage:
    """One run: exit code, screen, and the JSON."""

    code: int
    screen: str
    json: dict

    @property
    def only(self) -> dict:
        assert len(self.json["incidents"]) == 1, self.screen
        return self.json["incidents"][0]


def command(*arguments) -> subprocess.CompletedProcess:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run([REPLAY, "triage", *map(str, arguments)], capture_output=True, env=environment, timeout=120)


def triage(folder: pathlib.Path, log: str | bytes) -> Triage:
    path, result = folder / "job.log", folder / "triage.json"
    path.write_bytes(log if isinstance(log, bytes) else log.encode())
    result.unlink(missing_ok=True)
    done = command(path, "--json", result)
    assert done.returncode in (0, 10, 11), done.stderr.decode()
    assert done.stderr == b""
    text = result.read_text()
    assert text.isascii() and "\n" not in text
    VALIDATOR.validate(loaded := json.loads(text))
    return Triage(done.returncode, done.stdout.decode(), loaded)


# What the place of a message and the number of its prints cannot change.
PLACE = ("line", "offset_bytes", "rank", "process", "order", "seen_count", "statistics_line", "other_statistics_line")


def without_place(incident: dict) -> dict:
    return {name: value for name, value in incident.items() if name not in PLACE}
