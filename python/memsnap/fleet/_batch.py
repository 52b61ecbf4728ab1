# SPDX-License-Identifier: Apache-2.0
"""One batch of sources, read, verified and written to the staging folder as Parquet. The rule: it changes nothing but staged files, so that it
may run in any process, be killed and run again; what it made becomes part of the lake by a commit of the one who asked for it."""

from __future__ import annotations

import dataclasses
import errno
import functools
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile

from . import _columns, _job, _ledger, _receipt, _rows
from ._checks import Rejected
from ._lake import IDENTITIES, Lake, partition
from ._sources import Source, open_regular, read_at_most

_MAGIC = b"\x89MEMSNAP"
_REPLAY_SECONDS = 1800
_ROWS_TOGETHER = 1 << 17
_MADE, _DORMANT, _REPLAY_REFUSALS = (0, 10, 11), 7, {3: "not_a_recording", 4: "corrupt_recording"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What every batch of an ingest shares."""

    lake: str
    staging: str
    labels: dict  # job, device_model, cohort; None where not given
    replay: str | None
    token_key: str | None
    with_events: bool


class _HashedFile:
    """A new file, 0600, whose SHA-256 is known when it is closed."""

    def __init__(self, folder: str):
        self.path = os.path.join(folder, f"{secrets.token_hex(8)}.parquet")
        self._file = os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb")
        self._digest = hashlib.sha256()
        self.closed = False

    def write(self, data) -> int:
        self._digest.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class _Writers:
    """The staged files of a batch: one for each table, day and job."""

    def __init__(self, folder: str):
        self._folder = folder
        self._open = {}  # (table, partition) -> file, writer, pending tables, rows pending, rows

    def add(self, name: str, where: str, table) -> None:
        import pyarrow.parquet as parquet

        key = name, where
        if key not in self._open:
            file = _HashedFile(self._folder)
            self._open[key] = [file, parquet.ParquetWriter(file, table.schema, compression="zstd"), [], 0, 0]
        entry = self._open[key]
        entry[2].append(table)
        entry[3] += table.num_rows
        entry[4] += table.num_rows
        if entry[3] >= _ROWS_TOGETHER:
            self._flush(entry)

    @staticmethod
    def _flush(entry) -> None:
        import pyarrow as pa

        if entry[3]:
            entry[1].write_table(pa.concat_tables(entry[2]).combine_chunks())
            entry[2], entry[3] = [], 0

    def finish(self) -> list[dict]:
        staged = []
        for (name, where), entry in sorted(self._open.items(), key=lambda item: item[0]):
            file, writer = entry[0], entry[1]
            self._flush(entry)
            writer.close()
            file.close()
            staged.append({"table": name, "partition": where, "staged": file.path, "sha256": file.sha256, "rows": entry[4]})
        return staged


class _Batch:
    def __init__(self, plan: Plan):
        self.plan, self.lake = plan, _lake_of(plan.lake)
        self.known = self.lake.known()
        self.identities = {name: set() for name in IDENTITIES}
        self.writers = _Writers(plan.staging)
        self.rows = {"receipts": [], "jobs": [], "rejected": []}
        self.rejected: list[tuple[str, str, str]] = []
        self.counts = {"receipts": 0, "ledgers": 0, "events": 0, "jobs": 0, "already": 0, "ignored": 0}
        self.receipts_by_stem: dict = {}  # -> makes the row of the receipt that a ledger may lie beside

    def _is_new(self, name: str, identity: str) -> bool:
        """Whether this batch takes what has this identity."""
        if identity in self.known[name] or identity in self.identities[name]:
            return False
        self.identities[name].add(identity)
        return True

    def _labels(self, path: str) -> dict:
        labels = dict(self.plan.labels)
        labels["job"] = labels["job"] or self.lake.token("job", os.path.dirname(path))
        return labels

    def take(self, source: Source) -> None:
        digest = None  # known before anything else can go wrong: a file that is taken later does not count as rejected any more
        try:
            if source.kind == "document":
                data = read_at_most(source.path, _receipt.TEXT_AT_MOST_BYTES)
                digest = hashlib.sha256(data).hexdigest()
                self._document(source, data, digest)
            else:
                descriptor = open_regular(source.path)
                try:
                    if source.kind == "recording" and os.pread(descriptor, len(_MAGIC), 0) != _MAGIC:
                        raise _receipt.NotOurs
                    digest = _ledger.text_digest(descriptor)
                    if source.kind == "ledger":
                        self._ledger_file(source, descriptor, digest, self.receipts_by_stem.get(source.stem, lambda: None)())
                    else:
                        self._recording(source, digest)
                finally:
                    os.close(descriptor)
        except _receipt.NotOurs:
            self.counts["ignored"] += 1
        except Rejected as error:
            self._reject(source.path, digest, error.reason, error.detail)

    def _reject(self, path: str, digest: str | None, reason: str, detail: str) -> None:
        self.rejected.append((path, reason, detail))
        token = self.lake.token("file", path)
        identity = _rows.short_hash([digest or token, reason, detail])
        if self._is_new("rejections", identity):
            self.rows["rejected"].append(
                {"rejection_id": identity, "source_sha256": digest, "source_token": token, "reason": reason, "detail": detail}
            )

    def _document(self, source: Source, data: bytes, digest: str) -> None:
        if digest in self.known["sources"]:
            self.counts["already"] += 1
            self.receipts_by_stem[source.stem] = lambda: self._row_of_known(source, data, digest)
            return
        document = _receipt.parse(data)
        schema = _receipt.schema_of(document)
        if schema.startswith("memsnap.receipt."):
            _receipt.verify(document, data)
            row = self._receipt(document, digest, source.path)
            self.receipts_by_stem[source.stem] = lambda: row
        elif schema.startswith("memsnap.job."):
            row = _job.row_of(document, _receipt.verify(document, data), digest, self._labels(source.path))
            self._is_new("sources", digest)
            if self._is_new("jobs", row["job_digest"]):
                self.rows["jobs"].append(row)
                self.counts["jobs"] += 1
            else:
                self.counts["already"] += 1
        else:
            raise _receipt.NotOurs

    def _row_of_known(self, source: Source, data: bytes, digest: str) -> dict | None:
        """Of a receipt that was verified when it was taken."""
        document = _receipt.parse(data)
        return _rows.row_of(document, digest, self._labels(source.path)) if _receipt.schema_of(document) == _receipt.RECEIPT else None

    def _receipt(self, document: dict, digest: str, path: str) -> dict:
        row = _rows.row_of(document, digest, self._labels(path))
        self._is_new("sources", digest)  # taken, also where another file has brought the same receipt
        if self._is_new("receipts", row["receipt_id"]):
            self.rows["receipts"].append(row)
            self.counts["receipts"] += 1
        else:
            self.counts["already"] += 1
        return row

    def _ledger_file(self, source: Source, descriptor: int, digest: str, receipt: dict | None) -> None:
        if not self.plan.with_events:
            self.counts["ignored"] += 1
            return
        receipt_id = receipt and receipt["receipt_id"]
        identity = _rows.short_hash([digest, receipt_id])  # a ledger has no time in it: those of two runs may be the same text
        if identity in self.known["ledgers"]:
            self.counts["already"] += 1
            return
        try:
            first, last, count = _ledger.verify(descriptor)
        except Rejected as error:
            if error.detail == "header":
                raise _receipt.NotOurs from None  # some other table
            raise
        window = receipt and (receipt["first_ticket"], receipt["end_ticket"])
        if window and count and None not in window and not window[0] <= first <= last < window[1]:
            raise Rejected("ledger_of_another", "its tickets are not those of the receipt beside it")
        if not self._is_new("ledgers", identity):
            self.counts["already"] += 1
            return
        self._is_new("sources", digest)
        constants = {"ledger_id": identity, "receipt_id": receipt_id, "day": receipt and receipt["day"]}
        constants["job"] = receipt["job"] if receipt else self._labels(source.path)["job"]
        try:
            for table in _ledger.tables(descriptor, constants):
                self.writers.add("events", partition("events", constants["day"], constants["job"]), table)
        except Rejected:
            raise OSError(errno.ESTALE, "changed while it was read", source.path) from None  # half of it is staged: the batch is void
        self.counts["ledgers"] += 1
        self.counts["events"] += count

    def _recording(self, source: Source, digest: str) -> None:
        if digest in self.known["sources"] or digest in self.identities["sources"]:
            self.counts["already"] += 1
            return
        if self.plan.replay is None:
            raise Rejected("no_replay", "memsnap-replay was not found: name it with MEMSNAP_REPLAY")
        folder = tempfile.mkdtemp(dir=self.plan.staging)
        try:
            receipt, ledger = os.path.join(folder, "receipt.json"), os.path.join(folder, "ledger.csv")
            self._replay(source.path, receipt, ledger)
            data = read_at_most(receipt, _receipt.TEXT_AT_MOST_BYTES)
            document = _receipt.parse(data)
            _receipt.verify(document, data)
            row = self._receipt(document, digest, source.path)
            if self.plan.with_events:
                descriptor = open_regular(ledger)
                try:
                    self._ledger_file(source, descriptor, _ledger.text_digest(descriptor), row)
                finally:
                    os.close(descriptor)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _replay(self, recording: str, receipt: str, ledger: str) -> None:
        command = [self.plan.replay, "--json", receipt]
        command += ["--csv", ledger] if self.plan.with_events else []
        command += ["--token-key", self.plan.token_key] if self.plan.token_key else []
        try:
            done = subprocess.run(
                [*command, recording], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_REPLAY_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise Rejected("replay_failed", f"no answer of memsnap-replay in {_REPLAY_SECONDS} s") from None
        if done.returncode == _DORMANT:
            raise _receipt.NotOurs  # nothing was recorded yet
        if done.returncode not in _MADE:
            raise Rejected(_REPLAY_REFUSALS.get(done.returncode, "replay_failed"), f"exit status {done.returncode} of memsnap-replay")

    def _write_rows(self, name: str, columns) -> None:
        import pyarrow as pa

        by_partition: dict[str, list] = {}
        for row in self.rows[name]:
            by_partition.setdefault(partition(name, row.get("day"), row.get("job")), []).append(row)
        schema = _columns.schema(columns)
        for where, rows in sorted(by_partition.items()):
            rows.sort(key=lambda row: row[columns[0].name])
            self.writers.add(name, where, pa.Table.from_pylist(rows, schema=schema))

    def finish(self) -> dict:
        self._write_rows("receipts", _columns.RECEIPTS)
        self._write_rows("jobs", _columns.JOBS)
        self._write_rows("rejected", _columns.REJECTED)
        return {
            "staged": self.writers.finish(),
            "identities": {name: sorted(found) for name, found in self.identities.items()},
            "rejected": self.rejected,
            "counts": self.counts,
        }


@functools.lru_cache(maxsize=4)
def _lake_of(folder: str) -> Lake:
    """One a process: it reads each commit once."""
    return Lake(folder)


def take(plan: Plan, sources: list[Source]) -> dict:
    """Stages a batch. Returns, in words and numbers alone: `staged` files, their `identities`, `rejected` (path, reason, detail) and `counts`."""
    batch = _Batch(plan)
    for source in sources:
        batch.take(source)
    return batch.finish()
