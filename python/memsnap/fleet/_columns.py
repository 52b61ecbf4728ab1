# SPDX-License-Identifier: Apache-2.0
"""The tables of a lake: each column with its Arrow type, where in a receipt it comes from and what may stand there. The rule: one table of columns,
from which rows, the Arrow schema and the documentation are made; what is not known is null, never 0; a number of bytes is exact whatever its size."""

from __future__ import annotations

import dataclasses
import typing

from . import _checks
from ._checks import may_be_null

BYTES, COUNT, INT32, INT64, TEXT, TRUTH, DAY, TEXTS = "bytes", "count", "int32", "int64", "text", "truth", "day", "texts"


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    kind: str  # one of the above, or the columns of a list of rows
    path: tuple[str, ...] | None  # in the receipt, or in the row; None: made by _rows.py
    check: typing.Callable | None
    meaning: str
    nested: tuple["Column", ...] = ()


def _of(path: str, kind: str, check, meaning: str, name: str | None = None) -> Column:
    parts = tuple(path.split("."))
    return Column(name or parts[-1], kind, parts, may_be_null(check), meaning)


def _made(name: str, kind: str, meaning: str) -> Column:
    return Column(name, kind, None, None, meaning)


IDENTITY = (
    _made("receipt_id", TEXT, "of this receipt: SHA-256 of its digest and its times, the first 32 digits"),
    _made("case_id", TEXT, "of what happened: receipts of one failure have the same"),
    _made("source_sha256", TEXT, "of the file's bytes: of the receipt, or of the recording it was made of"),
    _of("digest.receipt", TEXT, _checks.sha256, "as the receipt states it, verified", "receipt_digest"),
    _of("digest.evidence", TEXT, _checks.sha256, "as the receipt states it, verified", "evidence_digest"),
    _made("day", DAY, "UTC, of the failure, else of the last record"),
    _made("job", TEXT, "label, or token of the folder"),
    _made("device_model", TEXT, "label; a receipt does not tell it"),
    _made("cohort", TEXT, "label"),
)
TIMES = tuple(
    _of(f"times.{name}", INT64, _checks.int64, "ns since 1970; outside the digests")
    for name in ("failure_unix_ns", "first_record_unix_ns", "last_record_unix_ns")
)

ENVIRONMENT = (
    *(
        _of(f"environment.{name}", TEXT, _checks.version, "")
        for name in ("torch_version", "python_version", "recorder_version", "cuda_runtime_version", "cuda_driver_version")
    ),
    _of("environment.world_size", INT32, _checks.int32, "ranks of the job"),
    _of("environment.rank", INT32, _checks.int32, ""),
    _of("environment.allocator.known", TRUTH, _checks.boolean, "whether the allocator's configuration is known", "allocator_known"),
    _of("environment.allocator.backend", TEXT, _checks.word, "null, as the five below, where the configuration is not known"),
    _of("environment.allocator.expandable_segments", TRUTH, _checks.boolean, ""),
    _of("environment.allocator.caching_disabled", TRUTH, _checks.boolean, ""),
    _of("environment.allocator.max_split_size_bytes", BYTES, _checks.number, ""),
    _of("environment.allocator.gc_threshold_permille", INT64, _checks.count, ""),
    _of("environment.allocator.roundup_power2_divisions", INT64, _checks.count, ""),
    _made("allocator", TEXT, "the configuration in one text, options that are off left out"),
)
CAPTURE = (
    *(_of(f"capture.{name}", TEXT, _checks.word, "") for name in ("origin", "start_mode", "arm_state", "failure_seen_in", "sampling")),
    _of("capture.exit_seen", TRUTH, _checks.boolean, ""),
    _of("capture.exit_status", INT32, _checks.int32, "of the job", "job_exit_status"),
    *(
        _of(f"capture.{name}", COUNT, _checks.uint64, "")
        for name in ("first_ticket", "end_ticket", "recorded_count", "lost_count", "lapped_count", "blind_count", "no_stack_count")
    ),
    _of("capture.uncertain", TEXTS, _checks.words, "declared losses"),
)
VERDICT = (
    _made("has_incident", TRUTH, "exit status 10 or 11"),
    _made("class", TEXT, "the primary hypothesis; else the qualifier that answers; else undecided; null without an incident"),
    _of("verdict.primary", TEXT, _checks.word, ""),
    *(_of(f"verdict.{name}", TEXTS, _checks.words, "") for name in ("contributing", "undecidable", "qualifiers")),
    _of("verdict.exit_status", INT32, _checks.int32, "of the replay", "replay_exit_status"),
)
FAILURE = (
    _of("evidence.failure.device", INT32, _checks.int32, "ordinal of the device in the process", "failure_device"),
    _of("evidence.failure.allocator", TEXT, _checks.word, "", "failure_allocator"),
    _of("evidence.failure.operation", TEXT, _checks.word, "", "failure_operation"),
    _of("evidence.failure.device_call", TEXT, _checks.word, "", "failure_device_call"),
    _of("evidence.failure.ticket", COUNT, _checks.uint64, "", "failure_ticket"),
    _of("evidence.failure.request_bytes", BYTES, _checks.number, ""),
    _of("evidence.failure.steps_ended_count", COUNT, _checks.uint64, "", "steps_ended_count"),
    _made("card_bytes", BYTES, "of the failing device, else of the first one seen"),
    *(
        _of(f"evidence.ledgers.{name}_bytes", BYTES, _checks.number, "at the failure")
        for name in (
            "device_free reserved allocated deferred cap active slack outside margin threshold largest_free_extent largest_compatible_extent "
            "reusable_free fragmented_free incompatible_free uncertainty".split()
        )
    ),
    _of("evidence.outside.others_bytes", BYTES, _checks.number, "of other processes"),
    _of("evidence.outside.holder_shares_job", TRUTH, _checks.boolean, "whether one of them is of this job"),
    _of("evidence.peak.active_bytes", BYTES, _checks.number, "", "peak_active_bytes"),
    _of("evidence.peak.reserved_bytes", BYTES, _checks.number, "", "peak_reserved_bytes"),
    _of("evidence.growth.basis", TEXT, _checks.word, "", "growth_basis"),
    _of("evidence.growth.boundary_count", COUNT, _checks.uint64, "", "growth_boundary_count"),
    _of("evidence.growth.retained_bytes", BYTES, _checks.number, "or its bound"),
    _of("evidence.growth.unknown_birth_bytes", BYTES, _checks.number, "of an older receipt null"),
)
HYPOTHESIS = (
    _made("hypothesis", TEXT, "live_set, retention, fragmentation, external"),
    _of("status", TEXT, _checks.word, ""),
    _of("margin_bytes", BYTES, _checks.number, ""),
    _of("fix", TEXT, _checks.advice, ""),
    _of("probe", TEXT, _checks.advice, "the evidence that was missing"),
)
SITE = (
    _of("site", INT64, _checks.count, "ordinal in the receipt"),
    _made("token", TEXT, "null without a stack"),
    _made("scope", TEXT, "key: equal in all recordings of one key; ring: of this recording alone"),
    _made("phase_word", TEXT, ""),
    _of("category", TEXT, _checks.word, ""),
    _of("bytes", BYTES, _checks.number, "live at the failure"),
    _of("block_count", COUNT, _checks.uint64, ""),
    _of("retained_bytes", BYTES, _checks.number, "born in earlier steps"),
    _made("survivor_bytes", BYTES, "of the site as a survivor; null where it is none"),
    _made("survivor_bytes_per_step", BYTES, ""),
)
NEAR_MISS = (
    _of("kind", TEXT, _checks.word, "recovered, probe"),
    _of("device", INT32, _checks.int32, ""),
    _of("request_bytes", BYTES, _checks.number, ""),
    _of("operation", TEXT, _checks.word, ""),
    _of("failed_calls_count", COUNT, _checks.uint64, ""),
)
LIBRARY = (
    _made("token", TEXT, "null without a name"),
    _of("role", TEXT, _checks.word, ""),
    _of("bytes", BYTES, _checks.number, ""),
    _of("allocation_count", COUNT, _checks.uint64, ""),
)
LISTS = (
    Column("hypotheses", "rows", None, None, "all four, judged", HYPOTHESIS),
    Column("sites", "rows", None, None, "live bytes by birth site, most bytes first", SITE),
    Column("near_misses", "rows", None, None, "refusals that did no harm", NEAR_MISS),
    Column("libraries", "rows", None, None, "this process's bytes outside PyTorch, by library", LIBRARY),
)
TOP_SITE = (
    _made(
        "top_site_token", TEXT, "the site that the incident is counted for: the largest survivor of a retention, else the one with most live bytes"
    ),
    _made("top_site_scope", TEXT, ""),
    _made("top_site_bytes", BYTES, ""),
    _made("keyed_site_count", INT64, "sites whose token is of scope key"),
)
RECEIPTS = (*IDENTITY, *TIMES, *ENVIRONMENT, *CAPTURE, *VERDICT, *FAILURE, *TOP_SITE, *LISTS)

PROCESS = (
    _of("process", INT64, _checks.count, "ordinal in the job receipt"),
    _of("rank", INT32, _checks.int32, ""),
    _of("host", INT64, _checks.count, "ordinal; 0: not known"),
    _of("role", TEXT, _checks.word, "what became of it ([job.md](job.md))"),
    _of("verdict.primary", TEXT, _checks.word, ""),
    _made("class", TEXT, "as in `runs`, of its own verdict"),
    _of("failed_ns", INT64, _checks.int64, "after the first failure"),
    _of("receipt", TEXT, _checks.sha256, "`receipt_digest` of its own receipt", "receipt_digest"),
)
JOBS = (
    _made("job_digest", TEXT, "as the job receipt states it, verified"),
    _made("case_id", TEXT, "of what happened: job receipts of one failure have the same"),
    _made("source_sha256", TEXT, "of the file's bytes"),
    _made("day", DAY, "UTC, of the first failure"),
    _made("job", TEXT, "label, or token of the folder"),
    _of("times.instant_unix_ns", INT64, _checks.int64, "ns since 1970, of the first failure, else of the first sign of life"),
    _of("job.process_count", INT64, _checks.count, ""),
    _of("job.host_count", INT64, _checks.count, ""),
    _of("job.world_size", INT32, _checks.int32, ""),
    _of("job.rank_count", INT64, _checks.count, "ranks that a recording was there of"),
    _of("first.process", INT64, _checks.count, "ordinal; null without a failure", "first_process"),
    _of("first.told", TRUTH, _checks.boolean, "false: the clocks do not tell which of several was first", "first_is_told"),
    _made("first_rank", INT32, ""),
    _made("first_class", TEXT, "class of that process"),
    _of("exit_status", INT32, _checks.int32, "of the replay"),
    Column("processes", "rows", None, None, "every process of the job", PROCESS),
)
REJECTED = (
    _made("rejection_id", TEXT, ""),
    _made("source_sha256", TEXT, "of the file's bytes; null where it could not be read"),
    _made("source_token", TEXT, "of the file's path, by the lake's key"),
    _made("reason", TEXT, "closed list"),
    _made("detail", TEXT, "where in the file"),
)

_EVENT_WORDS = ("kind", "op", "object")
_EVENT_SIGNED = ("value", "held_bytes", "unattributed_bytes", "expected_free_bytes")
_EVENT_FLAGS = ("nested", "capturing", "from_torch")
EVENT_NOT_EMPTY = ("ticket", "kind", "op", "thread", "library", "site", "phase", "step", "code", *_EVENT_FLAGS)
EVENTS = (
    "ticket kind op device thread library object allocation segment offset_bytes size_bytes value dimension site phase step code nested capturing "
    "from_torch cause allocated_bytes reserved_bytes device_total_bytes device_free_bytes others_bytes active_bytes deferred_bytes segment_bytes "
    "free_bytes outside_bytes held_bytes own_outside_bytes other_processes_bytes unattributed_bytes expected_free_bytes parameter_bytes "
    "gradient_bytes optimizer_state_bytes buffer_bytes input_bytes activation_bytes"
).split()


def arrow_type(column: Column):
    import pyarrow as pa

    if column.nested:
        return pa.list_(pa.struct([pa.field(one.name, arrow_type(one)) for one in column.nested]))
    return {
        BYTES: pa.decimal128(38, 0),
        COUNT: pa.uint64(),
        INT32: pa.int32(),
        INT64: pa.int64(),
        TEXT: pa.string(),
        TRUTH: pa.bool_(),
        DAY: pa.date32(),
        TEXTS: pa.list_(pa.string()),
    }[column.kind]


def schema(columns) -> object:
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(column)) for column in columns])


def event_type(name: str):
    import pyarrow as pa

    if name in _EVENT_WORDS:
        return pa.string()
    if name in _EVENT_FLAGS:
        return pa.uint8()
    return pa.int64() if name in _EVENT_SIGNED else pa.uint64()


def events_schema() -> object:
    import pyarrow as pa

    fields = [pa.field("ledger_id", pa.string()), pa.field("receipt_id", pa.string()), pa.field("day", pa.date32()), pa.field("job", pa.string())]
    return pa.schema(fields + [pa.field(name, event_type(name)) for name in EVENTS])
