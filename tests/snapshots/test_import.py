# SPDX-License-Identifier: Apache-2.0
"""A snapshot is replayed as a ring is: its end is the file's own, its past what the trace leads back to, and both programs judge it alike."""

import gzip
import hashlib
import json
import os
import pickle
import random

import pytest

import imports
import pickles
from imports import replay

MIB, GIB = 1 << 20, 1 << 30
public = pytest.mark.parametrize("path", imports.PUBLIC or [pytest.param(None, marks=pytest.mark.skip("shared/snapshots is not beside the checkout"))],
                                 ids=lambda path: path.stem if path else "none")
OOM_FILE = next((path for path in imports.PUBLIC if path.stem.startswith("code_location__")), None)
needs_oom_file = pytest.mark.skipif(OOM_FILE is None, reason="shared/snapshots is not beside the checkout")
FULL = {"expandable": {"expandable": True}, "segments": {"expandable": False}, "no deferred frees": {"expandable": False, "deferred": False}}


class Watched(pickles.Allocator):
    """Notes the granted size of every block."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.granted = []

    def alloc(self, *arguments, **options):
        address = super().alloc(*arguments, **options)
        if address is not None:
            self.granted.append(self._find(address)[1].size)
        return address


@public
def test_the_sums_at_the_end_are_those_of_the_files_own_segments(path):
    imports.assert_ends_as_the_file_says(path, imports.load(path))


@public
def test_both_programs_give_a_public_file_the_same_receipt(path, tmp_path):
    assert imports.oracle_disagrees(path, tmp_path) == ""


@public
def test_nothing_of_a_public_file_is_left_out(path):
    done = replay(path)
    assert (done.returncode, done.stderr) == (11 if path == OOM_FILE else 0, "")


@needs_oom_file
def test_the_verdict_is_that_of_the_failure_and_not_of_the_end():
    [failure] = imports.by_failure(imports.load(OOM_FILE))
    code, receipt = imports.receipt_of(OOM_FILE)
    evidence, found = receipt["evidence"], receipt["evidence"]["failure"]
    assert code == 11
    assert receipt["capture"]["origin"] == "torch_snapshot" and not receipt["capture"]["total_stated"]
    assert (found["device"], found["request_bytes"], found["device_call"]) == (1, failure["request"], "unknown")
    ledgers = evidence["ledgers"]
    assert (ledgers["device_free_bytes"], ledgers["reserved_bytes"], ledgers["total_bytes"]) == (failure["free"], failure["reserved"], None)
    [requests] = evidence["requests"]
    assert (requests["device"], requests["requested_bytes"]) == (1, failure["requested"])
    assert requests["told_block_count"] == failure["block_count"]
    assert requests["granted_bytes"] // (GIB // 100) == 7829


@needs_oom_file
def test_with_the_cards_size_stated_the_failure_is_explained(tmp_path):
    code, receipt = imports.receipt_of(OOM_FILE, "--card", "79.15GiB")
    assert code == 10 and receipt["capture"]["total_stated"] and receipt["verdict"]["primary"] == "live_set"
    assert imports.oracle_disagrees(OOM_FILE, tmp_path, "--card", "79.15GiB") == ""


@pytest.mark.parametrize("options", FULL.values(), ids=FULL)
@pytest.mark.parametrize("keep_last", [None, 900, 50])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_generated_job_ends_as_the_file_says_however_much_of_its_trace_is_left(tmp_path, options, keep_last, seed):
    whole = pickles.snapshot(seed=seed, events=1500, devices=2, total=700 * MIB, keep_last=keep_last, **options)
    path = imports.written(tmp_path, whole)
    imports.assert_ends_as_the_file_says(path, whole)
    assert replay(path).stderr == ""
    assert imports.oracle_disagrees(path, tmp_path) == ""


@pytest.mark.parametrize("release", pickles.RELEASES)
def test_files_of_every_release_are_imported(tmp_path, release):
    old = pickles.as_release(pickles.snapshot(seed=4, events=400, devices=2, deferred=False), release)
    path = imports.written(tmp_path, old)
    imports.assert_ends_as_the_file_says(path, old)
    assert imports.oracle_disagrees(path, tmp_path) == ""


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("keep_last", [None, 700, 100])
def test_blocks_that_are_gone_by_the_end_have_the_size_that_was_granted(tmp_path, monkeypatch, expandable, keep_last):
    cards = []
    monkeypatch.setattr(pickles, "Allocator", lambda *arguments: cards.append(Watched(*arguments)) or cards[-1])
    whole = pickles.snapshot(seed=8, events=1200, expandable=expandable, total=900 * MIB, keep_last=keep_last)
    path = imports.written(tmp_path, whole)
    sizes = [int(words[6]) for words in imports.records(path, "block_alloc")]
    assert sizes == cards[0].granted[len(cards[0].granted) - len(sizes):] and len(sizes) > 30


def test_reserved_and_requested_at_each_failure_are_those_of_the_trace(tmp_path):
    whole = pickles.snapshot(seed=11, events=2500, total=300 * MIB, deferred=False)
    path = imports.written(tmp_path, whole)
    failures = imports.by_failure(whole)[::-1]
    ooms = imports.records(path, "block_oom")
    taps = imports.records(path, "tap_oom")
    assert len(failures) == len(ooms) == len(taps) > 3
    field = lambda words, name: next(int(word.split("=")[1], 0) for word in words if word.startswith(name + "="))
    assert [field(words, "reserved") for words in ooms] == [one["reserved"] for one in failures]
    assert [field(words, "free") for words in taps] == [one["free"] for one in failures]
    assert [field(words, "requested") for words in taps] == [one["requested"] for one in failures]


def test_a_trace_that_contradicts_the_segments_is_left_out_entry_by_entry_and_the_segments_win(tmp_path):
    whole = pickles.snapshot(seed=6, events=300, deferred=False)
    trace = whole["device_traces"][0]
    at = next(i for i, entry in enumerate(trace) if entry["action"] == "free_requested")
    trace.insert(at, dict(trace[at], action="alloc", addr=whole["segments"][0]["address"] - 4096))
    trace.append(dict(trace[at], action="segment_free", addr=whole["segments"][0]["address"], size=whole["segments"][0]["total_size"]))
    path = imports.written(tmp_path, whole)
    done = replay(path)
    assert done.returncode == 0 and done.stderr.endswith("are left out: 2 of device 0\n") and done.stderr.count("\n") == 1
    imports.assert_ends_as_the_file_says(path, whole)
    _, receipt = imports.receipt_of(path)
    assert receipt["capture"]["lost_count"] == 2 and "events_lost" in receipt["capture"]["uncertain"]
    assert imports.oracle_disagrees(path, tmp_path) == ""


def test_a_block_that_waits_at_the_end_is_active_and_not_allocated(tmp_path):
    card = pickles.Allocator()
    kept, waiting = card.alloc(5 * MIB), card.alloc(30 * MIB)
    card.free(waiting, deferred=True)
    whole = {"segments": card.described(), "device_traces": [card.trace]}
    path = imports.written(tmp_path, whole)
    assert kept and imports.state(path)["totals"] == {0: (5 * MIB, 50 * MIB)}
    assert [words[2] for words in imports.records(path, "tap_free_requested", "tap_free_completed", "block_free")] == ["tap_free_requested", "block_free"]
    cut = {"segments": card.described(), "device_traces": [[]]}
    path = imports.written(tmp_path, cut, "cut.pickle")
    assert imports.state(path)["totals"] == {0: (5 * MIB, 50 * MIB)}


def test_the_site_of_a_block_that_only_its_free_tells_of_is_not_where_it_was_freed(tmp_path):
    born, freed = [{"name": "born", "filename": "a.py", "line": 1}], [{"name": "freed", "filename": "a.py", "line": 2}]

    def blocks_by_site(stack_of_free):
        card = pickles.Allocator()
        early = card.alloc(2 * MIB, frames=born)
        later = card.alloc(2 * MIB, frames=born)
        card.free(later, frames=stack_of_free)
        again = card.alloc(2 * MIB, frames=born)
        card.free(again, frames=stack_of_free)
        card.free(early, frames=stack_of_free)
        cut = {"segments": card.described(), "device_traces": [card.trace[2:]]}
        _, receipt = imports.receipt_of(imports.written(tmp_path, cut))
        [peak] = receipt["evidence"]["peak_sites"]
        return sorted(row["block_count"] for row in peak["rows"])

    assert blocks_by_site(freed) == [1, 1]
    assert blocks_by_site(born) == [2]


def test_annotations_are_ranges_and_end_as_boundaries(tmp_path):
    card = pickles.Allocator()
    annotations = []
    for step in range(8):
        annotations.append({"name": f"train {step}", "stage": "START", "device": 0, "time_us": next(card.clock)})
        card.alloc(3 * MIB)
        annotations.append({"name": f"train {step}", "stage": "END", "device": 0, "time_us": next(card.clock)})
    annotations.append({"name": "begun before", "stage": "END", "device": 0, "time_us": next(card.clock)})
    whole = {"segments": card.described(), "device_traces": [card.trace], "external_annotations": annotations}
    path = imports.written(tmp_path, whole)
    assert len(imports.records(path, "phase_begin")) == len(imports.records(path, "phase_end")) == 8
    _, receipt = imports.receipt_of(path)
    [shape] = receipt["evidence"]["shapes"]
    assert (shape["boundaries"], shape["active"]["point_count"], shape["active"]["last_bytes"]) == ("marked", 8, 24 * MIB)
    assert imports.oracle_disagrees(path, tmp_path) == ""


def test_observations_of_memsnap_tell_the_card_and_card_is_not_needed(tmp_path):
    whole = pickles.snapshot(seed=11, events=2500, total=300 * MIB, deferred=False)
    at = [i for i, entry in enumerate(whole["device_traces"][0]) if entry["action"] == "oom"][-1]
    whole["memsnap"] = {"version": 1, "observations": [{"device": 0, "before_entry": at, "total_bytes": 310 * MIB, "free_bytes": 7}]}
    path = imports.written(tmp_path, whole)
    [observation] = imports.records(path, "mem_info")
    assert str(310 * MIB) in " ".join(observation) and str(whole["device_traces"][0][at]["device_free"]) in " ".join(observation)
    done = replay(path, "--card", "80GiB", "--json", "-")
    assert "--card states nothing here" in done.stderr and not json.loads(done.stdout)["capture"]["total_stated"]
    assert imports.oracle_disagrees(path, tmp_path) == ""


def test_one_file_gives_one_receipt_that_names_it(tmp_path):
    whole = pickles.snapshot(seed=3, events=400, total=200 * MIB)
    first, second = imports.written(tmp_path, whole), imports.written(tmp_path, whole, "copy.pickle")
    data = first.read_bytes()
    receipts = [replay(path, "--json", "-").stdout for path in (first, first, second)]
    assert receipts[0] == receipts[1] == receipts[2] != ""
    assert json.loads(receipts[0])["references"] == [
        {"kind": "torch_snapshot", "sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}]
    ring = tmp_path / "made.ring"
    assert replay("import", first, ring).returncode == 0
    (tmp_path / "receipt.json").write_text(receipts[0])
    assert replay("check", "--receipt", tmp_path / "receipt.json", first).returncode == 0
    assert replay("check", "--receipt", tmp_path / "receipt.json", ring).returncode == 0


def test_a_snapshot_without_a_history_tells_its_totals(tmp_path):
    card, cached = pickles.Allocator(), pickles.Allocator(device=1)
    card.alloc(5 * MIB, frames=[{"name": "born", "filename": "a.py", "line": 1}])
    card.alloc(30 * MIB)
    cached.free(cached.alloc(30 * MIB))
    path = imports.written(tmp_path, {"segments": card.described() + cached.described(), "device_traces": [[], []]})
    _, receipt = imports.receipt_of(path)
    told = {shape["device"]: (shape["active"]["max_bytes"], shape["reserved"]["max_bytes"]) for shape in receipt["evidence"]["shapes"]}
    assert told == {0: (35 * MIB, card.reserved()), 1: (None, cached.reserved())}
    assert imports.oracle_disagrees(path, tmp_path) == ""
    last = [line for line in replay("dump", path).stdout.splitlines() if " initial" in line and " allocated=" in line]
    assert [line.split()[2:4] for line in last] == [["initial_segment", "1"], ["initial", "0"]]
    assert f" site=0x0 allocated={35 * MIB} reserved={card.reserved()} " in last[1]
    assert len([line for line in replay("dump", path).stdout.splitlines() if " initial " in line and " site=0x1 " in line]) == 1


def test_the_head_of_the_report_breaks_between_things_told(tmp_path):
    whole = pickles.snapshot(seed=3, events=400, total=200 * MIB)
    whole["allocator_settings"] = {"expandable_segments": True}
    path = imports.written(tmp_path, whole, f"{'long' * 20}.pickle")
    head = replay(path).stdout.splitlines()[:2]
    assert "expandable segments" in "".join(head) and not head[1].startswith(",")


def test_one_artifact_is_one_kind_of_reference_and_is_named_once(tmp_path):
    whole = pickles.snapshot(seed=3, events=400, total=200 * MIB)
    trace = b'{"schemaVersion": 1, "traceEvents": []}'
    files = {f"protocol{number}.pickle": (pickle.dumps(whole, protocol=number), "torch_snapshot") for number in range(6)}
    files |= {"trace.json": (trace, "profiler_trace"), "trace.json.gz": (gzip.compress(trace), "profiler_trace"),
              "list.json": (b'[{"ph": "X", "name": "[memory]"}]', "profiler_trace"), "log.gz": (gzip.compress(b"rank 0: OOM"), "other"),
              "stats.json": (b'{"allocated_bytes.all.current": 1}', "memory_stats"), "gz": (b"\x1f\x8b", "other")}
    for name, (content, kind) in files.items():
        path = imports.written(tmp_path, content, name)
        assert replay("reference", path).stdout.split(":")[0] == kind, name
    source = tmp_path / "protocol0.pickle"
    data = source.read_bytes()
    _, receipt = imports.receipt_of(source, "--reference", f"other:{hashlib.sha256(data).hexdigest()}:{len(data)}")
    assert [one["kind"] for one in receipt["references"]] == ["torch_snapshot"]


def test_names_of_an_import_are_used_as_those_beside_a_ring_are(tmp_path):
    path = imports.written(tmp_path, pickles.snapshot(seed=3, events=400))
    assert "step_" in replay(path).stdout and "step_" not in replay(path, "--no-names").stdout
    with_names = json.loads(replay(path, "--with-names", "--json", "-").stdout)
    assert any(frame["function"].startswith("step_") for site in with_names["names"]["sites"] for frame in site["frames"])
    assert "step_" not in replay(path, "--json", "-").stdout


def test_import_writes_two_files_and_never_over_others_unless_forced(tmp_path):
    path = imports.written(tmp_path, pickles.snapshot(seed=3, events=50))
    before, ring = path.read_bytes(), tmp_path / "made.ring"
    assert replay("import", path, ring).returncode == 0
    names = tmp_path / "made.ring.names"
    assert ring.read_bytes()[:8] == b"\x89MEMSNAP" and oct(names.stat().st_mode & 0o777) == "0o600"
    assert replay("import", path, ring).returncode == 5 and replay("import", path, ring, "--force").returncode == 0
    ring.unlink()
    assert replay("import", path, ring).returncode == 5 and not ring.exists()
    assert replay("import", path, path, "--force").returncode == 5 and path.read_bytes() == before
    for option in ("--json", "--csv", "--collapsed"):
        assert replay(path, option, path, "--force").returncode == 5 and path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["made.ring.names", "snapshot.pickle"]


def test_the_cards_size_is_for_snapshots_and_has_a_unit_or_none(tmp_path):
    path = imports.written(tmp_path, pickles.snapshot(seed=3, events=50))
    ring = tmp_path / "made.ring"
    assert replay("import", path, ring).returncode == 0
    done = replay(ring, "--card", "80GiB")
    assert done.returncode == 2 and "--card is for memory snapshots" in done.stderr
    for wrong in ("80", "80GB", "x", "0", "-1", "1.5", "2048GiB", "1.GiB", "99999999999999999999"):
        assert (replay(path, "--card", wrong).returncode == 2) == (wrong != "80"), wrong
    for task in ("dump", "check"):
        assert replay(task, path, "--card", "80GiB").returncode == 0


@pytest.mark.parametrize("task", [[], ["dump"], ["check"], ["diff"]], ids=lambda task: task[0] if task else "verdict")
def test_every_task_takes_a_snapshot(tmp_path, task):
    path = imports.written(tmp_path, pickles.snapshot(seed=3, events=100))
    assert replay(*task, path, *([path] if task == ["diff"] else [])).returncode in (0, 11)


CONTRADICTIONS = {
    "segments overlap": lambda whole: whole["segments"].append(dict(whole["segments"][0], address=whole["segments"][0]["address"] + 512)),
    "device 40": lambda whole: whole["segments"][0].update(device=40),
    "ends beyond it": lambda whole: whole["segments"][0].update(total_size=512, allocated_size=0, active_size=0),
    "multiples of 512": lambda whole: whole["segments"][0]["blocks"][0].update(size=1000),
    "sum up to": lambda whole: whole["segments"][0].update(active_size=whole["segments"][0]["active_size"] + 512),
    "larger than any card": lambda whole: whole["segments"][0].update(total_size=1 << 50),
    "begins before": lambda whole: whole["segments"][0]["blocks"].append(dict(whole["segments"][0]["blocks"][0])),
}


@pytest.mark.parametrize("change", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_segments_that_contradict_each_other_are_refused_with_the_users_path(tmp_path, change):
    whole = pickles.snapshot(seed=3, events=50)
    change(whole)
    path = imports.written(tmp_path, whole)
    done = replay(path)
    assert done.returncode == 4 and str(path) in done.stderr and "/proc/" not in done.stderr and "snapshot" in done.stderr


def test_a_pickle_that_would_call_something_is_refused_and_nothing_is_written(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/called",)

    path = imports.written(tmp_path, pickle.dumps({"segments": [Evil()], "device_traces": []}))
    for arguments in ([path], ["import", path, tmp_path / "made.ring"]):
        done = replay(*arguments)
        assert done.returncode == 4 and str(path) in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["snapshot.pickle"]


def test_what_is_no_snapshot_is_refused_as_before(tmp_path):
    for name, data in {"text": b"hello, world\n", "empty": b"", "json": b'{"a": 1}\n'}.items():
        path = imports.written(tmp_path, data, name)
        assert replay(path).returncode == 3 and replay("import", path, tmp_path / "made.ring").returncode == 3
    assert replay(tmp_path / "absent").returncode == 5
    assert replay(tmp_path).returncode == 2  # a folder may be a job's, and this one holds no recording


@pytest.mark.parametrize("whole", [[], {"segments": [], "device_traces": []}, {"segments": [], "device_traces": [[], []]}], ids=["1.13", "no devices", "no entries"])
def test_an_empty_snapshot_is_a_recording_without_a_failure(tmp_path, whole):
    path = imports.written(tmp_path, whole)
    assert replay(path).returncode == 0
    assert imports.oracle_disagrees(path, tmp_path) == ""


def bent(whole, rng) -> None:
    """One entry of a trace is lost, doubled, moved or given another number or word."""
    trace = rng.choice([trace for trace in whole["device_traces"] if trace])
    at, to = rng.randrange(len(trace)), rng.randrange(len(trace))
    entry = dict(trace[at])
    kind = rng.randrange(5)
    if kind == 0:
        trace.pop(at)
    elif kind == 1:
        trace.insert(to, entry)
    elif kind == 2:
        trace.insert(to, trace.pop(at))
    elif kind == 3:
        name = rng.choice([name for name in ("addr", "size", "device_free", "time_us", "stream") if name in entry])
        trace[at] = entry | {name: rng.choice([0, 1, 512, (1 << 63) - 1, entry[name] + 512, max(0, entry[name] - 512), rng.randrange(1 << 48)])}
    else:
        trace[at] = entry | {"action": rng.choice(["alloc", "free", "free_completed", "free_requested", "segment_alloc", "segment_free", "segment_map", "segment_unmap"]),
                             "addr": entry.get("addr", 0)}


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_trace_says_the_end_is_the_files_own_and_both_programs_agree(tmp_path, seed):
    rng = random.Random(seed)
    whole = pickles.snapshot(seed=seed, events=rng.randrange(20, 400), devices=rng.randint(1, 2), total=rng.choice([200 * MIB, 1 << 40]),
                             expandable=rng.random() < 0.5, keep_last=rng.choice([None, 100]))
    for _ in range(rng.randint(1, 12)):
        bent(whole, rng)
    path = imports.written(tmp_path, whole)
    assert replay(path).returncode in (0, 10, 11)
    imports.assert_ends_as_the_file_says(path, whole)
    assert imports.oracle_disagrees(path, tmp_path) == ""
