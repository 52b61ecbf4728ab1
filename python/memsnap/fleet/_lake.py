# SPDX-License-Identifier: Apache-2.0
"""The folder that a lake is. The rule: only what a commit lists is in it; a commit appears by one rename, under the lake's lock, and never with an
identity that an earlier one has. So what was killed in the middle left nothing behind, and nothing is ever counted twice.

    memsnap-lake.json                  what it is, and the key of its tokens
    receipts/day=…/job=…/<hash>.parquet, events/…, jobs/…, rejected/…
    _commits/<hash>.json               the files and the identities of one batch
    _staging/<random>/                 written, not yet of the lake
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil

SCHEMA, _COMMIT_SCHEMA = "memsnap.lake.v1", "memsnap.commit.v1"
TABLES = ("receipts", "events", "jobs", "rejected")
IDENTITIES = ("sources", "receipts", "ledgers", "jobs", "rejections")
_MARK, _COMMITS, _STAGING, _LOCK = "memsnap-lake.json", "_commits", "_staging", "_lock"
_IN_THE_LAKE = re.compile(r"[a-z]+(/day=[\w-]+/job=[\w.-]+)?/[0-9a-f]{32}\.parquet\Z", re.ASCII)
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what Hive, Spark and DuckDB take for null


class Unusable(Exception):
    """The folder is no lake, or cannot be one; the text says why and what to do."""


class Overlap(Exception):
    """Another ingest has committed some of the batch since it was made: it is made again."""


def write_new(path: str, data: bytes) -> None:
    """A file that was not there, 0600, on disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folders(top: str, below: str) -> None:
    """Each folder of the path `below` under `top`, 0700."""
    path = top
    for name in below.split("/"):
        path = os.path.join(path, name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def partition(table: str, day, job) -> str:
    """The folder of a row, below the lake."""
    return table if table == "rejected" else f"{table}/day={_NO_VALUE if day is None else day}/job={_NO_VALUE if job is None else job}"


class Lake:
    def __init__(self, folder: str):
        """Opens a lake. Raises Unusable."""
        self.folder = os.path.abspath(folder)
        try:
            with open(os.path.join(self.folder, _MARK), "rb") as file:
                mark = json.loads(file.read(4096))
            schema, self.key = mark["schema"], bytes.fromhex(mark["key"])
        except FileNotFoundError:
            raise Unusable(f"{folder} is no lake (it has no {_MARK}); `memsnap fleet ingest … --to {folder}` makes one") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unusable(f"{os.path.join(folder, _MARK)} cannot be read: {error}") from None
        if schema != SCHEMA:
            raise Unusable(f"{folder} is a lake of another version: {_MARK} does not say {SCHEMA}; use the memsnap that made it, or another folder")
        self._commits: dict[str, list] = {}
        self._known = {name: set() for name in IDENTITIES}

    @classmethod
    def create(cls, folder: str) -> "Lake":
        """Opens the lake in `folder`, and makes one where there is nothing."""
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            is_lake = os.path.exists(os.path.join(folder, _MARK))
            if not is_lake and any(not name.startswith(("_", ".")) for name in os.listdir(folder)):
                if not os.path.exists(os.path.join(folder, _MARK)):  # another ingest may have made it one just now
                    raise Unusable(f"{folder} is neither empty nor a lake: name another folder")
            for name in (_COMMITS, _STAGING):
                make_folders(folder, name)
            if not is_lake:
                draft = os.path.join(folder, f"_{secrets.token_hex(8)}")
                write_new(draft, json.dumps({"schema": SCHEMA, "key": secrets.token_hex(32)}).encode())
                with contextlib.suppress(FileExistsError):  # another ingest was first
                    os.link(draft, os.path.join(folder, _MARK))
                os.unlink(draft)
                sync_folder(folder)
        except OSError as error:
            raise Unusable(f"{error.filename or folder}: {error.strerror}") from None
        return cls(folder)

    def token(self, kind: str, text: str) -> str:
        return f"{kind}-{hashlib.blake2b(f'{kind}{chr(0)}{text}'.encode('utf-8', 'surrogateescape'), key=self.key, digest_size=8).hexdigest()}"

    def _read_commits(self) -> None:
        folder = os.path.join(self.folder, _COMMITS)
        for name in sorted(os.listdir(folder)):
            if name in self._commits or not name.endswith(".json"):
                continue
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    commit = json.loads(file.read())
                if commit["schema"] != _COMMIT_SCHEMA:
                    raise ValueError(f"its schema is not {_COMMIT_SCHEMA}")
                files = [(file["table"], file["path"]) for file in commit["files"]]
                if any(table not in TABLES or not _IN_THE_LAKE.match(path) for table, path in files):
                    raise ValueError("it lists what is no file of a lake")
                for identity in IDENTITIES:
                    self._known[identity].update(commit["identities"][identity])
            except (ValueError, KeyError, TypeError) as error:
                raise Unusable(f"{os.path.join(folder, name)} is damaged: {error}") from None
            self._commits[name] = files

    def known(self) -> dict[str, set[str]]:
        """The identities of all that is committed by now."""
        self._read_commits()
        return self._known

    def files(self, table: str) -> list[str]:
        """The absolute paths of a table's committed files, sorted. Raises Unusable where one is missing."""
        self._read_commits()
        found = sorted({os.path.join(self.folder, path) for files in self._commits.values() for of, path in files if of == table})
        missing = next((path for path in found if not os.path.isfile(path)), None)
        if missing:
            raise Unusable(f"{missing} is missing although a commit lists it: restore it, or ingest into another folder")
        return found

    @contextlib.contextmanager
    def staging(self):
        """A folder of this process, gone in the end. Those whose process is gone are removed first."""
        top = os.path.join(self.folder, _STAGING)
        for name in os.listdir(top):
            self._remove_if_left(os.path.join(top, name))
        folder = os.path.join(top, secrets.token_hex(8))
        with self._locked(_LOCK):  # so that nobody takes it for a left one before it is held
            os.mkdir(folder, 0o700)
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)

    def _remove_if_left(self, folder: str) -> None:
        with self._locked(_LOCK), contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def _locked(self, name: str):
        descriptor = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def commit(self, staged: list[dict], identities: dict[str, list[str]]) -> None:
        """Makes staged files part of the lake, all or none. Raises Overlap, and leaves the lake as it was."""
        if not any(identities.values()):
            return
        with self._locked(_LOCK):
            known = self.known()
            if any(not known[name].isdisjoint(identities[name]) for name in IDENTITIES):
                raise Overlap
            files = []
            for file in staged:
                make_folders(self.folder, file["partition"])
                path = os.path.join(self.folder, file["partition"], f"{file['sha256'][:32]}.parquet")
                os.replace(file["staged"], path)
                files.append({"table": file["table"], "path": os.path.relpath(path, self.folder), "rows": file["rows"], "sha256": file["sha256"]})
            self._sync_above({os.path.dirname(file["path"]) for file in files})
            commit = {"schema": _COMMIT_SCHEMA, "files": files, "identities": {name: sorted(identities[name]) for name in IDENTITIES}}
            self._publish(json.dumps(commit, sort_keys=True).encode())

    def _sync_above(self, partitions: set[str]) -> None:
        """Each folder that may be new, up to the lake itself."""
        folders = set()
        for folder in partitions:
            while folder:
                folders.add(folder)
                folder = os.path.dirname(folder)
        for folder in (*folders, ""):
            sync_folder(os.path.join(self.folder, folder))

    def _publish(self, text: bytes) -> None:
        folder = os.path.join(self.folder, _COMMITS)
        draft = os.path.join(folder, f".{secrets.token_hex(8)}")
        write_new(draft, text)
        os.rename(draft, os.path.join(folder, f"{hashlib.sha256(text).hexdigest()}.json"))
        sync_folder(folder)
