# SPDX-License-Identifier: Apache-2.0
"""How recordings are asked for: one that the reader dies of, or takes too long for, costs its own line alone, and is tried again later."""

import os
import stat
import sys

import pytest

from memsnap.live import _source

LINE = {"schema": "memsnap.live.v1", "state": "recording", "ring_id": "0", "devices": [], "failures_count": 0}


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A stand-in for memsnap-replay: `crash*.bin` kills it, `slow*.bin` holds it up, `site*.bin` has a site, which has a name when asked for."""
    script = tmp_path / "memsnap-replay"
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys, time\n"
        f"line = {LINE!r}\n"
        "asked = sys.argv[1:]\n"
        "open(os.path.dirname(sys.argv[0]) + '/asked', 'a').write(' '.join(asked) + '\\n')\n"
        "for path in [word for word in asked if word.endswith('.bin')]:\n"
        "    name = os.path.basename(path)\n"
        "    if name.startswith('crash'): os.kill(os.getpid(), 11)\n"
        "    if name.startswith('slow'): time.sleep(60)\n"
        "    sites = [{'token': 'site-1', 'bytes': 1, 'blocks_count': 1, 'label': None if '--no-names' in asked else 'f (a.py:1)'}] if name.startswith('site') else []\n"
        "    print(json.dumps(line | {'file': path, 'devices': [{'device': 0, 'sites': sites}]}), flush=True)\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("MEMSNAP_REPLAY", str(script))
    monkeypatch.setattr(_source, "_READ_SECONDS", 3.0)

    def watched(*names: str) -> _source.Source:
        paths = [tmp_path / name for name in names]
        for path in paths:
            path.write_bytes(b"")
        monkeypatch.setattr(_source._targets, "resolve", lambda targets, deaf_too: _source._targets.Resolved(found=[_source._targets.Found(str(path), str(path), None) for path in paths]))
        source = _source.Source([str(tmp_path)], 5)
        source.look_around()
        return source

    return watched


def told(views: list) -> dict:
    return {os.path.basename(view["file"]): "error" in view for view in views}


@pytest.mark.parametrize(("bad", "why"), [("crash.bin", "ended with -11"), ("slow.bin", "took more than 3 s")])
def test_a_recording_that_the_reader_cannot_get_through_is_named_and_the_others_are_told(reader, bad, why, monkeypatch):
    source = reader("a.bin", bad, "z.bin")
    assert told(source.read()) == {"a.bin": False, bad: True}
    views = source.read()
    assert told(views) == {"a.bin": False, "z.bin": False, bad: True}
    (error,) = [view["error"]["detail"] for view in views if "error" in view]
    assert why in error
    monkeypatch.setattr(_source, "_LEFT_OUT_SECONDS", 0.0)
    assert told(source.read()) == {"a.bin": False, bad: True}  # tried again


def test_names_are_asked_for_once(reader, tmp_path):
    source = reader("site.bin")
    for _ in range(3):
        (view,) = source.read()
        source.add_labels(view)
        assert view["devices"][0]["sites"][0]["label"] == "f (a.py:1)"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len([line for line in asked if "--no-names" not in line]) == 1 and len(asked) == 4


def test_a_recording_that_was_removed_when_its_job_had_ended_is_forgotten(reader, tmp_path, monkeypatch):
    source = reader("a.bin", "crash.bin")
    source.read()
    (tmp_path / "crash.bin").unlink()
    source.read()
    assert told(source.read()) == {"a.bin": False}


def test_a_reader_that_refuses_its_command_line_says_so(reader, tmp_path, monkeypatch):
    source = reader("a.bin")
    (tmp_path / "memsnap-replay").write_text("#!/bin/sh\necho 'no such command: live' >&2\nexit 2\n")
    with pytest.raises(_source.Unusable, match="no such command: live"):
        source.read()
