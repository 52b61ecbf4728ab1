# SPDX-License-Identifier: Apache-2.0
"""`memsnap-replay live`: what it says of recordings whose numbers are known, of damaged ones and of one that is being written."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import threading

import pytest

from conftest import BUILD, REPLAY
from this_host import as_another, own_process

ENCODE = BUILD / "fixtures/encode/memsnap-encode"
MIB = 1 << 20

NOW = """
library_entry 2 role=program
segment s1 40MiB
mem_info total=1GiB free=900MiB
alloc a s1+0 10MiB site=7
alloc b s1+10MiB 8MiB site=7
call nccl cudaMalloc 64MiB library=2
process_sample own=164MiB others=20MiB count=1
device_sample total=1GiB free=800MiB
free a
"""


def header(**fields) -> str:
    return "memsnap-events 1\nheader ring_records=4096 " + " ".join(f"{name}={value}" for name, value in fields.items()) + "\n"


def encoded(path: pathlib.Path, text: str) -> pathlib.Path:
    path.parent.mkdir(exist_ok=True)
    subprocess.run([ENCODE, "-", path], input=text, text=True, check=True)
    return path


def look(*arguments, code: int = 0) -> list[dict]:
    done = subprocess.run([REPLAY, "live", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def steps(count: int, kept_from: int = 0, emptied_each: int = 0, before: str = "") -> str:
    """Each step keeps 1 MiB and holds 4 MiB more for a while; the card has 1000 MiB for PyTorch."""
    lines = ["segment s 100MiB", "alloc w s+99MiB 512 site=4", "free w", "mem_info total=1GiB free=900MiB", before]
    kept = []
    for number in range(count):
        if emptied_each and number % emptied_each == 0:
            lines += [f"free {name}" for name in kept]
            kept = []
        name = f"k{number}"
        kept.append(name)
        lines += [f"alloc {name} s+{number}MiB 1MiB site=5", "alloc t s+90MiB 4MiB site=6", "free t", "step"]
    return "\n".join(lines) + "\n"


def test_what_is_held_now_is_told_with_what_is_left(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header(rank=3, world_size=8, torch_version=21401) + NOW)
    (view,) = look(ring)
    assert (view["schema"], view["rank"], view["world_size"], view["torch_version"]) == ("memsnap.live.v1", 3, 8, 21401)
    (device,) = view["devices"]
    told = {name: device[f"{name}_bytes"] // MIB for name in ("active", "reserved", "total", "free", "others", "outside", "available", "margin", "peak_active", "peak_reserved")}
    assert told == {
        "active": 8, "reserved": 40, "total": 1024, "free": 800, "others": 20, "outside": 64,
        "available": 840, "margin": 832, "peak_active": 18, "peak_reserved": 40,
    }  # fmt: skip
    assert (device["device"], device["blocks_count"], device["others_count"]) == (0, 1, 1)
    assert [(site["bytes"] // MIB, site["blocks_count"]) for site in device["sites"]] == [(8, 1)]


def test_a_limit_of_the_program_is_what_is_left_where_it_is_less(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header() + NOW + "cap 512MiB\n")
    device = look(ring)[0]["devices"][0]
    assert (device["cap_bytes"] // MIB, device["available_bytes"] // MIB, device["margin_bytes"] // MIB) == (512, 512, 504)


def test_growth_from_step_to_step_is_told_with_the_steps_until_the_card_is_full(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header() + steps(10))
    trend = look(ring)[0]["devices"][0]["trend"]
    assert trend == {
        "family": "step", "points_count": 8, "steps_count": 7, "change_bytes": 7 * MIB, "bytes_per_step": MIB,
        "growing": True, "full_in_steps": 1000 - 14, "full_from": "peak",
    }  # fmt: skip


def test_a_peak_of_long_ago_is_no_basis_for_when_the_card_is_full(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header() + steps(10, before="alloc big s+0 80MiB site=9\nfree big"))
    trend = look(ring)[0]["devices"][0]["trend"]
    assert (trend["full_in_steps"], trend["full_from"]) == (1000 - 10, "point")


def test_a_cache_that_is_emptied_now_and_then_is_not_called_growth(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header() + steps(39, emptied_each=10))
    trend = look(ring)[0]["devices"][0]["trend"]
    assert (trend["growing"], trend["full_in_steps"]) == (False, None)


def test_steps_that_the_recorder_thinned_out_are_counted_in(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header(boundary_stride=2) + steps(20))
    trend = look(ring)[0]["devices"][0]["trend"]
    assert (trend["points_count"], trend["steps_count"], trend["bytes_per_step"]) == (8, 14, MIB)


@pytest.mark.parametrize(
    ("fields", "end", "state", "alive"),
    [
        (own_process(), "", "recording", True),
        (own_process() | {"process_start_ticks": 1}, "", "killed", False),
        (own_process() | {"pid_namespace": 1}, "", "recording", None),
        (own_process() | {"host_key": 5, "process_start_ticks": 1}, "", "recording", None),
        (own_process() | {"host_key": 0}, "", "recording", None),
        (own_process(), "exit 7\n", "ended", True),
        (own_process() | {"superseded": 1}, "", "superseded", True),
        (own_process() | {"arm_state": "cold", "disarmed_at": 5}, "", "disarmed", True),
        (own_process() | {"arm_state": "cold", "disarmed_at": 5, "process_start_ticks": 1}, "", "disarmed", False),
    ],
)
def test_the_state_of_a_job_is_told_by_its_process_and_its_file(tmp_path, fields, end, state, alive):
    (view,) = look(encoded(tmp_path / "ring-1.bin", header(**fields) + NOW + end))
    assert (view["state"], view["alive"], view["exit_status"]) == (state, alive, 7 if end else None)


@pytest.mark.parametrize(("changed", "end", "told"), [({}, "", True), ({"process_start_ticks": 1, "superseded": 1}, "", False), ({"host_key": 5}, "", False), ({}, "exit 0\n", False)])
def test_ages_are_told_of_a_process_that_runs_here_alone(tmp_path, changed, end, told):
    text = header(clock_source="monotonic_ns", **(own_process() | changed)) + "anchor counter=0 monotonic_ns=0\n" + NOW + "anchor counter=9000000000 monotonic_ns=9000000000\n" + end
    (view,) = look(encoded(tmp_path / "ring-1.bin", text))
    assert (view["devices"][0]["report_age_ns"] is not None) == told


def test_a_folder_that_may_not_be_listed_is_a_line_with_its_error(tmp_path):
    encoded(tmp_path / "closed/ring-1.bin", header() + NOW)
    ring = encoded(tmp_path / "ring-2.bin", header() + NOW)
    (tmp_path / "closed").chmod(0)
    done = as_another([REPLAY, "live", tmp_path / "closed", ring])
    (tmp_path / "closed").chmod(0o700)
    closed, other = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, closed["error"]["code"], closed["file"]) == (5, 5, str(tmp_path / "closed")) and "devices" in other


def test_a_file_that_waits_to_be_armed_tells_who_it_is_and_nothing_else(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", "memsnap-events 1\nheader dormant arm_state=cold rank=2 " + " ".join(f"{name}={value}" for name, value in own_process().items()) + "\n")
    (view,) = look(ring)
    assert (view["state"], view["rank"], view["devices"]) == ("cold", 2, [])


def test_in_standby_live_blocks_are_added_up_since_no_event_is_kept(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header(**own_process()).replace("header", "header standby") + NOW)
    (view,) = look(ring)
    assert (view["state"], view["devices"][0]["active_bytes"] // MIB, view["devices"][0]["margin_bytes"] // MIB) == ("standby", 8, 832)


def test_processes_of_one_job_have_one_token_and_it_is_not_the_key(tmp_path):
    for name, key in (("a", 77), ("b", 77), ("c", 78)):
        encoded(tmp_path / f"ring-{name}.bin", header(job_key=key, job_key_source="launcher") + NOW)
    tokens = [view["job"] for view in look(tmp_path)]
    assert tokens[0] == tokens[1] != tokens[2] and "77" not in (tokens[0], tokens[2])


def test_sites_have_the_tokens_that_receipts_have(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header() + NOW + "exit 0\n")
    subprocess.run([REPLAY, ring, "--json", tmp_path / "receipt.json"], capture_output=True, check=False)
    written = (tmp_path / "receipt.json").read_text()
    (site,) = look(ring)[0]["devices"][0]["sites"]
    assert site["token"].startswith("site-") and f'"{site["token"]}"' in written


def test_a_recording_that_cannot_be_read_does_not_keep_the_others_from_being_told(tmp_path):
    whole = encoded(tmp_path / "ring-1.bin", header() + NOW)
    cut = shutil.copy(whole, tmp_path / "ring-2.bin")
    os.truncate(cut, 100_000)
    (tmp_path / "ring-3.bin").write_bytes(b"not a recording")
    views = look(tmp_path, code=4)
    assert [pathlib.Path(view["file"]).name for view in views] == ["ring-1.bin", "ring-2.bin"]
    assert "devices" in views[0] and "truncated" in views[1]["error"]["detail"]
    named = look(tmp_path / "ring-3.bin", whole, code=3)
    assert named[0]["error"]["rule"] == "magic" and "devices" in named[1]


def test_a_look_changes_no_byte_and_no_time_of_a_recording(tmp_path):
    ring = encoded(tmp_path / "ring-1.bin", header() + NOW)
    before = ring.read_bytes(), ring.stat().st_mtime_ns, ring.stat().st_ctime_ns, sorted(os.listdir(tmp_path))
    look(ring), look(tmp_path, "--no-names")
    assert (ring.read_bytes(), ring.stat().st_mtime_ns, ring.stat().st_ctime_ns, sorted(os.listdir(tmp_path))) == before


def test_a_look_at_a_file_that_is_being_scribbled_over_tells_numbers_or_why_not(tmp_path):
    """Whatever stands in the areas at the moment of a look: a line comes, and the program does not die of it."""
    ring = encoded(tmp_path / "ring-1.bin", header(table_entries=1024) + steps(30))
    size, stop, chance = ring.stat().st_size, threading.Event(), random.Random(4)

    def scribble() -> None:
        with ring.open("r+b", buffering=0) as file:
            while not stop.is_set():
                file.seek(chance.randrange(512, size - 64))
                file.write(chance.randbytes(chance.choice((1, 8, 64))))

    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(60):
            done = subprocess.run([REPLAY, "live", ring], capture_output=True, text=True, timeout=60)
            assert done.returncode in (0, 3, 4, 5), done.stderr
            (line,) = done.stdout.splitlines()
            assert ("error" in json.loads(line)) == (done.returncode != 0)
    finally:
        stop.set()
        writer.join()
