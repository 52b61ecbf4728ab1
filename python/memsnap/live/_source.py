# SPDX-License-Identifier: Apache-2.0
"""What `memsnap-replay live` says of the recordings that are watched. The rule: one process reads them all within a bounded time, and a recording
that it cannot read in that time, or dies of, is left out for a minute and named; the others are not held up by it."""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import time

from .. import _running, _tools
from ..control import _targets

_LEFT_OUT_SECONDS = 60.0  # until a recording that could not be read in time is tried again
_READ_SECONDS = 5.0  # for all recordings together
_LOOK_AROUND_SECONDS = 5.0  # between two looks for new processes
_UNNAMED_SECONDS = 10.0  # until a site without a name is asked for again: its name may be written later
_VERDICT_SECONDS = 120.0
_SCHEMA = "memsnap.live.v1"
_USAGE, _IO_ERROR = 2, 5  # exit codes of memsnap-replay


_TEXTS = ("file", "ring_id", "job", "token", "label", "detail")


def _numbers(value, name: str = ""):
    """The answer's integers as such: those that a double cannot hold are told as digits."""
    if isinstance(value, dict):
        return {key: _numbers(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_numbers(part) for part in value]
    return int(value) if isinstance(value, str) and name not in _TEXTS and value.lstrip("-").isdecimal() else value


class Unusable(Exception):
    """The targets name nothing that could be watched; the text says why."""


class Source:
    """The recordings of the targets (process ids, files, folders), or of all processes of this user; each `read()` looks at them anew."""

    def __init__(self, targets: list, sites_count: int, token_key: str | None = None):
        self._targets = targets
        self._sites_count = sites_count
        self._token_key = token_key
        self._replay = _tools.find(_tools.REPLAY)
        self._shown = {}  # path -> how its process names it, in the order of finding
        self._pids = {}  # path -> process that has it mapped
        self._left_out = {}  # path -> (why, since when)
        self._forgotten = set()  # paths
        self._looked_at = 0.0
        self._labels = {}  # (ring_id, token) -> label
        self._unnamed = {}  # (ring_id, token) -> when it was asked for
        self._verdicts = {}  # (ring_id, failures, state) -> Future
        self._judging = None  # the process that makes one
        self._workers = concurrent.futures.ThreadPoolExecutor(1, "memsnap-verdict")

    def look_around(self) -> None:
        """Finds what is there. Recordings found once stay, also when their process has ended. Raises Unusable when targets name nothing."""
        self._looked_at = time.monotonic()
        self._pids = {}
        if self._targets:
            resolved = _targets.resolve(self._targets, deaf_too=True)
            for found in resolved.found:
                if found.path not in self._forgotten:
                    self._shown.setdefault(found.path, found.shown)
            if not resolved.found:
                faults = [f"{target}: {why}" for target, why in resolved.faults] or ["no recording there"]
                raise Unusable("; ".join(faults))
        for mapped in _running.find():
            if mapped.deleted or (self._targets and mapped.path not in self._shown):
                continue
            self._shown.setdefault(mapped.path, mapped.shown)
            self._pids[mapped.path] = mapped.pid

    def read(self) -> list[dict]:
        """One object a recording, as docs/live.md describes them; `shown` and, where a process here has it mapped, `pid_here` are added.
        Superseded recordings are left out, as are those that were removed when their process had ended."""
        if time.monotonic() - self._looked_at > _LOOK_AROUND_SECONDS:
            self.look_around()
        now = time.monotonic()
        self._left_out = {path: (why, since) for path, (why, since) in self._left_out.items() if now - since < _LEFT_OUT_SECONDS}
        paths = [path for path in self._shown if path not in self._left_out]
        views, why = self._ask(paths, self._sites_count, names=False) if paths else ([], "")
        if len(views) < len(paths):
            self._left_out[paths[len(views)]] = why, now
        views += [{"schema": _SCHEMA, "file": path, "error": {"detail": why}} for path, (why, _) in self._left_out.items()]
        shown = []
        for view in views:
            path = view["file"]
            if "error" in view and not os.path.lexists(path):
                self._shown.pop(path, None)
                self._left_out.pop(path, None)
            elif view.get("state") != "superseded":
                shown.append({**view, "shown": self._shown.get(path, path), "pid_here": self._pids.get(path)})
        return shown

    def forget(self, path: str) -> None:
        """It is not read any more."""
        self._shown.pop(path, None)
        self._forgotten.add(path)

    def _command(self, paths: list[str], sites_count: int, names: bool) -> list[str]:
        options = ["--sites", str(sites_count)] + ([] if names else ["--no-names"])
        if self._token_key:
            options += ["--token-key", self._token_key]
        return [self._replay, "live", *options, *(os.path.abspath(path) for path in paths)]

    def _ask(self, paths: list[str], sites_count: int, names: bool) -> tuple:
        """(the lines of the answer, why there are not more). Each line belongs to the path in its place: what is behind the last one is what it was
        stopped at."""
        try:
            done = subprocess.run(self._command(paths, sites_count, names), stdin=subprocess.DEVNULL, capture_output=True, timeout=_READ_SECONDS)
            output, why = done.stdout, f"memsnap-replay ended with {done.returncode} while it was read"
            if not output and (done.returncode == _USAGE or (self._token_key and done.returncode == _IO_ERROR)):
                raise Unusable(done.stderr.decode("utf-8", "replace").strip())
        except subprocess.TimeoutExpired as expired:
            output, why = expired.stdout or b"", f"reading it took more than {_READ_SECONDS:.0f} s"
        views = [_numbers(json.loads(line)) for line in output.split(b"\n")[:-1]]
        for view, path in zip(views, paths):
            view["file"] = path
        return views, why

    def add_labels(self, view: dict) -> None:
        """Puts the names of sites into a view, as far as they are known; asks for them once."""
        sites = [site for device in view.get("devices", ()) for site in device["sites"] if site["token"]]
        ring, now = view.get("ring_id"), time.monotonic()
        keys = [(ring, site["token"]) for site in sites]
        if any(key not in self._labels and now - self._unnamed.get(key, -_UNNAMED_SECONDS) >= _UNNAMED_SECONDS for key in keys):
            self._unnamed.update(dict.fromkeys(keys, now))
            for named in self._ask([view["file"]], self._sites_count, names=True)[0]:
                for device in named.get("devices", ()):
                    self._labels.update({(ring, site["token"]): site["label"] for site in device["sites"] if site["label"]})
        for site, key in zip(sites, keys):
            site["label"] = self._labels.get(key)

    def verdict(self, view: dict, wait: bool = False) -> dict | None:
        """Why memory ran out, of a recording with failures: the receipt's `verdict`. None: no answer yet, or no incident."""
        if not view.get("failures_count"):
            return None
        key = (view["ring_id"], view["failures_count"], view["state"])
        if key not in self._verdicts:
            self._verdicts[key] = self._workers.submit(self._judge, view["file"])
        future = self._verdicts[key]
        return future.result() if wait or future.done() else None

    def _judge(self, path: str) -> dict | None:
        command = [self._replay, os.path.abspath(path), "--no-names", "--json", "-"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as self._judging:
            try:
                output, _ = self._judging.communicate(timeout=_VERDICT_SECONDS)
                verdict = json.loads(output)["verdict"]
            except (subprocess.TimeoutExpired, ValueError, KeyError):
                self._judging.kill()
                return None
        return verdict if verdict["hypotheses"] else None

    def close(self) -> None:
        self._workers.shutdown(wait=False, cancel_futures=True)
        if self._judging:
            self._judging.kill()
