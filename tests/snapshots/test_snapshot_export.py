# SPDX-License-Identifier: Apache-2.0
"""Recordings as snapshots of PyTorch's: its own script and the viewer's rules accept them, they say what PyTorch said of the same run, and
reading one in and writing it again changes no byte."""

import dataclasses
import importlib.util
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time

import pytest

import pickles
import viewer_rules

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
REPLAY = BUILD / "replay/memsnap-replay"
ENCODE = BUILD / "fixtures/encode/memsnap-encode"
PUBLIC = sorted((TOP.parent / "shared" / "snapshots").glob("*.pickle"))
PROGRAMS = TOP / "tests/e2e/programs"
TOKEN = re.compile(r"(site|phase)-[0-9a-f]{16}|step [0-9]+|warmup|forward|backward|optimizer|checkpoint|evaluation|generation|data|")


def torch_script():
    """PyTorch's _memory_viz.py, without PyTorch."""
    path = pathlib.Path(importlib.util.find_spec("torch").origin).parent / "cuda/_memory_viz.py"
    spec = importlib.util.spec_from_file_location("memory_viz_of_torch", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VIZ = torch_script()


def run_replay(*arguments, codes=(0, 10, 11)) -> subprocess.CompletedProcess:
    done = subprocess.run([REPLAY, *map(str, arguments)], capture_output=True, timeout=300)
    assert done.returncode in codes, done.stderr
    return done


def export(source: pathlib.Path, path: pathlib.Path, *options: str) -> dict:
    run_replay(source, "--pickle", path, *options)
    return pickle.loads(path.read_bytes())


def assert_torchs_script_accepts(path: pathlib.Path) -> None:
    def load():
        return pickle.loads(path.read_bytes())

    VIZ.segsum(load())
    VIZ.trace(load())
    VIZ.segments(load(), lambda lines: lines)
    VIZ.memory(load(), lambda lines: lines)
    VIZ.compare(load()["segments"], load()["segments"], lambda lines: lines)
    VIZ.trace_plot(load())
    VIZ.trace_plot(load(), plot_segments=True)
    VIZ.trace_plot(load(), filter_freed=True)
    VIZ.segment_plot(load())


def assert_accepted(path: pathlib.Path) -> None:
    assert_torchs_script_accepts(path)
    viewer_rules.check_file(path, pickle.loads(path.read_bytes()))


def command(program: pathlib.Path, *arguments) -> list[str]:
    return [str(TOP / "scripts/with_simcuda"), "--total", "8GiB", "--", sys.executable, str(program), *map(str, arguments)]


def environment(folder: pathlib.Path, **extra: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "SIMCUDA_", "PYTORCH_"))}
    own = {"MEMSNAP_BUILD": str(BUILD), "LD_PRELOAD": str(BUILD / "interpose/libmemsnap.so"), "MEMSNAP_OUT": str(folder / "ring-%p.bin"), "TORCH_CPP_LOG_LEVEL": "ERROR"}
    return inherited | own | extra


def the_ring(folder: pathlib.Path) -> pathlib.Path:
    rings = [path for path in folder.glob("ring-*.bin")]
    assert len(rings) == 1, rings
    return rings[0]


def recorded(folder: pathlib.Path, program: pathlib.Path, *arguments, **extra: str) -> pathlib.Path:
    subprocess.run(command(program, *arguments), env=environment(folder, **extra), cwd=folder, capture_output=True, timeout=300)
    return the_ring(folder)


@dataclasses.dataclass
class Run:
    ring: pathlib.Path
    snapshot: dict  # PyTorch's own of the same run


@pytest.fixture(scope="module", params=["cudaMalloc", "expandable"])
def run(request, tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("history")
    extra = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"} if request.param == "expandable" else {}
    ring = recorded(folder, TOP / "tests/snapshots/snapshot_job.py", folder / "torchs.pickle", **extra)
    return Run(ring, pickle.loads((folder / "torchs.pickle").read_bytes()))


@pytest.fixture(scope="module")
def rings(tmp_path_factory) -> dict[str, pathlib.Path]:
    return {name: recorded(tmp_path_factory.mktemp(name), PROGRAMS / f"{name}.py") for name in ("no_failure", "phased", "fragmentation")}


def without_first(snapshot: dict, action: str) -> dict:
    trace = snapshot["device_traces"][0]
    trace.pop(next(at for at, entry in enumerate(trace) if entry["action"] == action))
    return snapshot


def test_the_viewers_rules_see_what_would_break_it():
    def whole():
        return pickles.snapshot(seed=4, events=120, total=300 << 20)

    viewer_rules.check(whole())
    for action in ("alloc", "free_requested", "free_completed", "segment_free"):
        with pytest.raises(AssertionError):
            viewer_rules.check(without_first(whole(), action))
    viewer_rules.scan(pickle.dumps(list(range(1000)), 4))
    for value, protocol in ((1, 5), (b"bytes", 4), (1 << 70, 4), ({1, 2}, 4), (list(range(1001)), 1)):
        with pytest.raises(AssertionError):
            viewer_rules.scan(pickle.dumps(value, protocol))


def test_an_export_ends_where_pytorch_ended(run, tmp_path):
    ours = export(run.ring, tmp_path / "export.pickle")
    assert_accepted(tmp_path / "export.pickle")

    def segments(snapshot):
        return {s["address"]: (s["device"], s["total_size"], s["segment_type"], s["is_expandable"], s["allocated_size"], s["active_size"]) for s in snapshot["segments"]}

    def blocks(snapshot):
        return {b["address"]: (b["size"], b["state"]) for s in snapshot["segments"] for b in s["blocks"]}

    assert segments(ours) == segments(run.snapshot)
    assert blocks(ours) == blocks(run.snapshot)


def test_an_export_tells_the_same_events_as_pytorchs_history(run, tmp_path):
    ours = export(run.ring, tmp_path / "export.pickle")["device_traces"][0]
    theirs = [entry for entry in run.snapshot["device_traces"][0] if entry["action"] != "snapshot"]
    assert [(e["action"], e["addr"]) for e in ours] == [(e["action"], e["addr"]) for e in theirs]
    for mine, other in zip(ours, theirs):
        granted = mine["action"] in ("alloc", "free_requested", "free_completed")
        assert mine["size"] >= other["size"] if granted else mine["size"] == other["size"]
        assert abs(mine["time_us"] - other["time_us"]) < 1_000_000


def test_frames_are_those_of_pytorch_when_names_are_asked_for(run, tmp_path):
    ours = export(run.ring, tmp_path / "export.pickle", "--with-names")["device_traces"][0]
    theirs = [entry for entry in run.snapshot["device_traces"][0] if entry["action"] != "snapshot"]
    told = [(mine["frames"], other["frames"]) for mine, other in zip(ours, theirs) if mine["action"] == "alloc"]
    assert told
    for mine, other in told:
        assert [(f["name"].split(".")[-1], f["filename"], f["line"]) for f in mine] == [(f["name"], f["filename"], f["line"]) for f in other]


def test_with_the_tap_an_export_says_exactly_what_pytorch_says(tmp_path):
    taps = {"MEMSNAP_TAP_DIR": str(tmp_path / "taps")}
    built = subprocess.run([sys.executable, "-m", "memsnap", "tap", "build"], env=os.environ | taps, capture_output=True, text=True, timeout=600)
    assert built.returncode == 0, built.stderr
    ring = recorded(tmp_path, TOP / "tests/snapshots/snapshot_job.py", tmp_path / "torchs.pickle", "tap", **taps)
    ours, theirs = export(ring, tmp_path / "export.pickle"), pickle.loads((tmp_path / "torchs.pickle").read_bytes())
    assert ours["memsnap"]["tap"]
    assert_accepted(tmp_path / "export.pickle")

    def entries(snapshot):
        return [(e["action"], e.get("addr", e.get("device_free")), e["size"], e["stream"], e["pool_id"]) for e in snapshot["device_traces"][0] if e["action"] != "snapshot"]

    def state(snapshot):
        members = ("device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type", "segment_pool_id", "is_expandable")
        # What PyTorch's holes say is the request of who was there last.
        blocks = [[(b["address"], b["size"], b["state"], b["state"] != "inactive" and b["requested_size"]) for b in s["blocks"]] for s in snapshot["segments"]]
        return sorted(([s[m] for m in members], held) for s, held in zip(snapshot["segments"], blocks))

    told_of = {entry[0] for entry in entries(theirs)}
    assert {"oom", "segment_free"} <= told_of and any(entry[4] != (0, 0) for entry in entries(theirs))
    assert entries(ours) == entries(theirs)
    assert state(ours) == state(theirs)
    export(tmp_path / "export.pickle", tmp_path / "again.pickle")
    assert (tmp_path / "again.pickle").read_bytes() == (tmp_path / "export.pickle").read_bytes()


@pytest.mark.parametrize("names", [(), ("--with-names",)])
def test_reading_an_export_in_and_writing_it_again_changes_no_byte(run, rings, tmp_path, names):
    for number, ring in enumerate([run.ring, *rings.values()]):
        first, second = tmp_path / f"{number}-1.pickle", tmp_path / f"{number}-2.pickle"
        export(ring, first, *names)
        export(first, second, *names)
        assert first.read_bytes() == second.read_bytes(), ring
        assert_accepted(first)


def test_a_job_that_was_killed_can_be_opened(tmp_path):
    job = subprocess.Popen(command(PROGRAMS / "train_forever.py"), env=environment(tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + 120
        while not _has_events(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    snapshot = export(the_ring(tmp_path), tmp_path / "export.pickle")
    assert_accepted(tmp_path / "export.pickle")
    assert len(snapshot["device_traces"][0]) > 1000


def _has_events(folder: pathlib.Path) -> bool:
    rings = list(folder.glob("ring-*.bin"))
    if not rings:
        return False
    done = subprocess.run([REPLAY, "dump", rings[0]], capture_output=True)
    return done.stdout.count(b"\n") > 5000


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            if key not in ("action", "state", "stage", "segment_type"):
                yield from texts(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from texts(member)


def test_nothing_but_tokens_is_in_it_without_leave(rings, tmp_path):
    for name, ring in rings.items():
        snapshot = export(ring, tmp_path / f"{name}.pickle")
        strange = {text for text in texts(snapshot) if not TOKEN.fullmatch(text)}
        assert strange == set()
        assert "train" not in str(snapshot) and str(ring.parent) not in str(snapshot)


def test_phases_and_the_failure_are_told(rings, tmp_path):
    snapshot = export(rings["phased"], tmp_path / "export.pickle")
    failures = [entry for entry in snapshot["device_traces"][0] if entry["action"] == "oom"]
    assert failures and all(entry["device_free"] >= 0 for entry in failures)
    assert [(a["name"], a["stage"]) for a in snapshot["external_annotations"]][:2] == [("forward", "START"), ("forward", "END")]
    observed = snapshot["memsnap"]["observations"]
    assert snapshot["memsnap"]["version"] == 1 and observed
    at = snapshot["device_traces"][0].index(failures[0])
    assert any(o["before_entry"] == at and o["free_bytes"] == failures[0]["device_free"] for o in observed)


def test_each_failure_has_the_word_of_its_own_thread(tmp_path):
    events, ring, path = tmp_path / "events.txt", tmp_path / "ring.bin", tmp_path / "export.pickle"
    events.write_text("memsnap-events 1\nsegment s1 20MiB\nalloc a s1+0 20MiB\ntap_oom 50MiB free=24MiB thread=1\ntap_oom 60MiB free=12MiB thread=2\n"
                      "oom 60MiB operation=no thread=2\noom 50MiB operation=no thread=1\n")
    subprocess.run([ENCODE, events, ring], check=True)
    failures = [entry for entry in export(ring, path)["device_traces"][0] if entry["action"] == "oom"]
    assert [(entry["size"], entry["device_free"]) for entry in failures] == [(60 << 20, 12 << 20), (50 << 20, 24 << 20)]


def test_a_draft_lies_where_the_result_will_be(tmp_path):
    events, ring = tmp_path / "events.txt", tmp_path / "ring.bin"
    events.write_text("memsnap-events 1\nsegment s1 20MiB\nalloc a s1+0 20MiB\n")
    subprocess.run([ENCODE, events, ring], check=True)
    nowhere = os.environ | {"TMPDIR": str(tmp_path / "nowhere")}
    for option in ("--pickle", "--perfetto"):
        assert subprocess.run([REPLAY, ring, option, tmp_path / f"made{option}"], env=nowhere, capture_output=True).returncode == 0
        done = subprocess.run([REPLAY, ring, option, "-"], env=nowhere, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (5, "") and "nowhere" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.txt", "made--perfetto", "made--pickle", "ring.bin"]


def test_an_export_goes_to_standard_output_and_never_over_its_source(run, tmp_path):
    path = tmp_path / "export.pickle"
    export(run.ring, path)
    assert run_replay(run.ring, "--pickle", "-").stdout == path.read_bytes()
    before = path.read_bytes()
    run_replay(run.ring, "--pickle", path, codes=(5,))
    for target in (run.ring, pathlib.Path(f"{run.ring}.names")):
        kept = target.read_bytes()
        run_replay(run.ring, "--pickle", target, "--force", codes=(5,))
        assert target.read_bytes() == kept
    run_replay(path, "--pickle", path, "--force", codes=(5,))
    assert path.read_bytes() == before
    run_replay(run.ring, "--pickle", path, "--force")


@pytest.mark.skipif(not PUBLIC, reason="no public snapshots beside the checkout")
@pytest.mark.parametrize("source", PUBLIC, ids=lambda path: path.stem)
def test_public_snapshots_are_written_again_and_then_stay_as_they_are(source, tmp_path):
    whole = pickle.loads(source.read_bytes())
    segments = whole if isinstance(whole, list) else whole["segments"]
    for names in ((), ("--with-names",)):
        first, second = tmp_path / "first.pickle", tmp_path / "second.pickle"
        snapshot = export(source, first, "--force", *names)
        assert_accepted(first)
        sums = {"total_size": 0, "allocated_size": 0, "active_size": 0}
        for member in sums:
            assert sum(s[member] for s in snapshot["segments"]) == sum(s[member] for s in segments)
        export(first, second, "--force", *names)
        assert first.read_bytes() == second.read_bytes()


def trace_events(path: pathlib.Path) -> tuple[dict, list[dict]]:
    whole = json.loads(path.read_text())
    return whole, [event for event in whole["traceEvents"] if event["ph"] != "M"]


def assert_slices_nest(events: list[dict]) -> None:
    open_slices: dict[int, list[str]] = {}
    for event in events:
        if event["ph"] == "B":
            open_slices.setdefault(event["tid"], []).append(event["name"])
        elif event["ph"] == "E":
            open_slices[event["tid"]].pop()
    assert all(not names for names in open_slices.values())


def test_a_trace_for_perfetto_is_in_order_balanced_and_ends_at_the_last_totals(rings, tmp_path):
    for name, ring in rings.items():
        run_replay(ring, "--perfetto", tmp_path / f"{name}.json")
        whole, events = trace_events(tmp_path / f"{name}.json")
        times = [event["ts"] for event in events]
        assert events and times == sorted(times) and times[0] >= 0
        assert_slices_nest(events)
        receipt = json.loads(run_replay(ring, "--json", "-").stdout)
        assert whole["metadata"]["evidence_sha256"] == receipt["digest"]["evidence"]
        last = {event["name"]: event["args"]["bytes"] for event in events if event["ph"] == "C"}
        totals = [line.split() for line in subprocess.run([REPLAY, "dump", "--state", ring], capture_output=True, text=True).stdout.splitlines() if line.startswith("totals 0 ")]
        assert [last["allocated"], last["reserved"]] == [int(cell) for cell in totals[0][2:]]
        failures = [event for event in events if event["ph"] == "i" and event["name"] == "out of memory"]
        assert bool(failures) == (name != "no_failure")


def test_a_trace_for_perfetto_has_names_only_with_leave(rings, tmp_path):
    run_replay(rings["phased"], "--perfetto", tmp_path / "names.json", "--with-names")
    run_replay(rings["no_failure"], "--perfetto", tmp_path / "tokens.json")
    named = {event["name"] for event in trace_events(tmp_path / "names.json")[1] if event["ph"] == "B"}
    assert {"forward", "backward"} <= named
    slices = {event["name"] for event in trace_events(tmp_path / "tokens.json")[1] if event["ph"] == "B"}
    assert all(TOKEN.fullmatch(name) or name == "garbage collection" for name in slices)


def told(trace: list[dict]) -> list[tuple]:
    """Without what an import does not keep: the labels of frees, and entries of other words."""
    frees = ("free_requested", "free_completed")
    return [
        (e["action"], e.get("addr"), e["size"], e["stream"], e["pool_id"], e["time_us"], "" if e["action"] in frees else e.get("user_metadata", ""))
        for e in trace
        if e["action"] not in ("snapshot", "annotate")
    ]


@pytest.mark.parametrize("seed", range(1, 9))
def test_made_up_snapshots_keep_every_entry_and_then_stay_as_they_are(seed, tmp_path):
    whole = pickles.snapshot(seed=seed, events=500, devices=1 + seed % 3, expandable=seed % 2 == 1, total=(150 + 20 * seed) << 20)
    source, first, second = (tmp_path / f"{name}.pickle" for name in ("source", "first", "second"))
    source.write_bytes(pickle.dumps(whole, 4))
    snapshot = export(source, first, "--with-names")
    assert_accepted(first)
    assert [told(trace) for trace in snapshot["device_traces"]] == [told(trace) for trace in whole["device_traces"]]
    export(first, second, "--with-names")
    assert first.read_bytes() == second.read_bytes()


def test_a_long_trace_is_written_whole_and_small(tmp_path):
    entries = 300_000
    base, size = 0x7F00_0000_0000, 1 << 20
    trace = [{"action": "segment_alloc", "addr": base, "size": 20 * size, "stream": 0, "time_us": 1, "frames": []}]
    for at in range(entries // 3):
        here = {"addr": base + at % 7 * 2 * size, "size": 2 * size, "stream": 0, "time_us": 2 + at}
        trace += [here | {"action": "alloc", "frames": []}, here | {"action": "free_requested"}, here | {"action": "free_completed"}]
    segment = {"device": 0, "address": base, "total_size": 20 * size, "allocated_size": 0, "active_size": 0, "requested_size": 0, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [{"address": base, "size": 20 * size, "requested_size": 0, "state": "inactive", "frames": []}]}
    source = tmp_path / "source.pickle"
    source.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [trace]}, 4))
    snapshot = export(source, tmp_path / "export.pickle")
    assert len(snapshot["device_traces"][0]) == entries + 1
    assert (tmp_path / "export.pickle").stat().st_size < 60 * entries
    viewer_rules.check_file(tmp_path / "export.pickle", snapshot)
    run_replay(source, "--perfetto", tmp_path / "trace.json")
    whole, events = trace_events(tmp_path / "trace.json")
    shown = [event["args"]["bytes"] for event in events if event["ph"] == "C" and event["name"] == "allocated"]
    assert set(shown) == {0, 2 * size} and len(shown) <= 200_002
