# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own text of a real failure, triaged, against the verdict on the recording of the same failure."""

import json
import subprocess

import pytest

from conftest import REPLAY

UNSAMPLED = {"MEMSNAP_SAMPLE_MS": "0"}
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}
TALKATIVE = {"TORCH_CPP_LOG_LEVEL": "WARNING"}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
RUNS = {
    "live_set": (("live_set.py",), (), {}),
    "retention": (("retention.py",), (), {}),
    "fragmentation": (("fragmentation.py",), (), {}),
    "external": (("external.py",), (), {}),
    "capped": (("cases.py", "capped"), (), {}),
    "larger than the card": (("cases.py", "larger_than_card"), (), {}),
    "driver refused": (("cases.py", "driver_refused"), ("--refuse", "0@bytes=2GiB"), {}),
    "deferred free": (("cases.py", "deferred_free"), (), {"SIMCUDA_PENDING_EVENTS": "1"}),
    "full": (("cases.py", "full"), (), {}),
    "full, expandable": (("cases.py", "full"), (), EXPANDABLE),
    "near capacity": (("cases.py", "near_capacity"), (), {}),
    "pinned remainders": (("pinned_remainders.py",), (), {}),
    "small request": (("oom_sizes.py", 0, 300_000, 2), (), {}),
    "large segment": (("oom_sizes.py", 10, (1 << 20) + 1, 2), (), {}),
}


def triaged(bench, text: str) -> dict:
    log, result = bench.folder / "job.log", bench.folder / "triage.json"
    log.write_text(text)
    result.unlink(missing_ok=True)
    done = subprocess.run([REPLAY, "triage", log, "--json", result], capture_output=True, text=True, timeout=60)
    assert done.returncode in (10, 11) and done.stderr == "", done
    return json.loads(result.read_text())


def contradictions(incident: dict, receipt: dict) -> list[str]:
    """Where both know a number, or have settled a cause, and differ."""
    ledgers, failure, verdict = receipt["evidence"]["ledgers"], receipt["evidence"]["failure"], receipt["verdict"]
    exact = {name: ledgers[name] for name in ("total_bytes", "device_free_bytes", "reserved_bytes", "allocated_bytes", "cap_bytes")}
    exact |= {name: failure[name] for name in ("request_bytes", "segment_request_bytes")}
    found = [f"{name}: {exact[name]} is not in {bounds}" for name, bounds in incident["evidence"].items()
             if exact.get(name) is not None and bounds is not None and not bounds[0] <= exact[name] <= bounds[1]]
    ours, theirs = incident["verdict"], verdict
    # Only a history shows retention: what text calls live-set may be that.
    same = ours["primary"] in (None, theirs["primary"]) or (theirs["primary"] == "retention" and ours["primary"] == "live_set" and "retention" in ours["undecidable"])
    if theirs["primary"] is not None and not same:
        found.append(f"primary: text says {ours['primary']}, the recording {theirs['primary']}")
    return found


@pytest.mark.parametrize("words", [QUIET, TALKATIVE], ids=["error alone", "with warnings"])
@pytest.mark.parametrize("run", RUNS)
def test_text_and_recording_of_one_failure_do_not_contradict_each_other(run, words, bench):
    program, simcuda, environment = RUNS[run]
    job = bench.run(*program, simcuda=("--total", "8GiB", *simcuda), **UNSAMPLED, **words, **environment)
    assert "out of memory" in job.stderr, job.stderr
    replays = [replay for ring in job.rings if (replay := bench.replay(ring, receipt=True)).code in (10, 11)]
    assert len(replays) == 1

    triage = triaged(bench, job.stdout + job.stderr)

    assert triage["unrecognised"] == []
    (incident,) = triage["incidents"]
    assert contradictions(incident, replays[0].receipt) == []
    if words is TALKATIVE and run in ("live_set", "fragmentation", "full"):
        low, high = incident["evidence"]["device_free_bytes"]
        assert low == high, "the warning tells the bytes"


def test_a_contradiction_is_seen():
    """The comparison above can fail."""
    evidence = {"total_bytes": [5, 9], "device_free_bytes": [0, 1], "request_bytes": None}
    receipt = {"evidence": {"ledgers": dict.fromkeys(("device_free_bytes", "reserved_bytes", "allocated_bytes", "cap_bytes")) | {"total_bytes": 10},
                            "failure": {"request_bytes": 3, "segment_request_bytes": 4}}, "verdict": {"primary": "external"}}
    incident = {"evidence": evidence, "verdict": {"primary": "live_set", "undecidable": ["retention"]}}
    assert contradictions(incident, receipt) == ["total_bytes: 10 is not in [5, 9]", "primary: text says live_set, the recording external"]
    receipt["verdict"]["primary"] = "retention"
    assert contradictions(incident, receipt) == ["total_bytes: 10 is not in [5, 9]"]


def test_the_asynchronous_allocators_text_is_recognised(bench):
    job = bench.run("modes/fraction.py", record=False, **ASYNC)
    (incident,) = triaged(bench, job.stdout + job.stderr)["incidents"]
    assert incident["format"] == "F7" and incident["complete"]
