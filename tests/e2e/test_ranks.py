# SPDX-License-Identifier: Apache-2.0
"""A job of several ranks, explained by one command: real PyTorch ranks on simulated cards, and recordings made of text where the clock, the host
or a number of ranks matters.
"""

import json
import pathlib
import re
import subprocess
import sys
import time

import jsonschema
import pytest

from conftest import BUILD, ORACLE, REPLAY, TOP
from this_host import here, own_process

MIB, GIB = 1024**2, 1024**3
ENCODE = BUILD / "fixtures/encode/memsnap-encode"
START_NS = 1_700_000_000_000_000_000
SECOND_NS = 1_000_000_000
LEDGERS = ("active", "reserved", "outside", "device_used")


def replay(*arguments, code: int | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run([REPLAY, *map(str, arguments)], capture_output=True, text=True, timeout=300, env={"LC_ALL": "C.UTF-8"})
    assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def oracle(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([ORACLE, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def job_receipt(folder: pathlib.Path, *arguments) -> dict:
    """Of the newest job in a folder; the check of the program that wrote it and the program that recomputes it must agree with it."""
    path = folder.parent / f"{folder.name}.job.json"
    written = replay(folder, "--json", path, "--force", *arguments)
    assert path.exists(), written.stderr
    assert replay("check", "--receipt", path, folder, code=0).stdout.startswith("OK")
    recomputed = oracle("--receipt", path, folder)
    assert (recomputed.returncode, recomputed.stderr) == (0, "")
    return json.loads(path.read_text())


def canonical(value) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def roles(receipt: dict) -> list[str]:
    return [process["role"] for process in receipt["processes"]]


def first_line(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def assert_one_screen(text: str) -> None:
    """The command with a path may be longer than a line."""
    lines = text.splitlines()
    assert len(lines) <= 50 and max(len(line) for line in lines if not line.startswith("MORE")) <= 100, text


# ---------------------------------------------------------------- real ranks


def run_ranks(bench, story: str, count: int, **environment: str):
    settings = {"TORCHELASTIC_RUN_ID": "a run", "PYTHONPATH": str(TOP / "python"), "MEMSNAP_RING_MB": "1", "MEMSNAP_SAMPLE_MS": "20", "MEMSNAP_QUIET": "1"}
    return bench.run("ranks.py", story, str(count), simcuda=("--total", "8GiB", "--devices", str(count)), **settings | environment)


@pytest.fixture(scope="module")
def leaking_job(module_bench):
    job = run_ranks(module_bench, "one_leaks", 8)
    assert len(job.rings) == 8, job.stderr
    return module_bench.folder


def test_of_eight_ranks_the_one_that_failed_and_the_seven_that_followed_are_told_by_one_command(leaking_job):
    screen = replay(leaking_job, code=10).stdout

    assert "8 of 8 ranks, 1 host" in screen
    assert re.match(r"FIRST TO FAIL  rank 3 on cuda:3, .* after the job was first seen; no other ran out of memory", first_line(screen, "FIRST"))
    assert "retention" in first_line(screen, "CAUSE")
    assert "take (ranks.py:" in first_line(screen, "AT")
    rows = [line.split() for line in screen.splitlines() if re.match(r"^ +[0-7] (failed|followed)", line)]
    assert [row[0] for row in rows] == list("01234567")
    assert ["failed first: retention" if row[0] == "3" else "followed: killed" for row in rows] == [" ".join(row[1:4] if row[0] == "3" else row[1:3]) for row in rows]
    assert_one_screen(screen)


def test_the_command_that_the_screen_names_gives_the_same_verdict_of_the_first_rank(leaking_job):
    screen = replay(leaking_job).stdout
    path = first_line(screen, "MORE").removeprefix("MORE").split("memsnap-replay ")[1]

    alone = replay(path, code=10).stdout
    assert first_line(alone, "CAUSE").split() == first_line(screen, "CAUSE").split()


def test_the_skew_shows_at_once_which_rank_held_more_when_the_first_one_failed(leaking_job):
    receipt = job_receipt(leaking_job)

    assert receipt["instant"] == "failure" and receipt["first"] == {"clocks_compared": False, "process": 4, "rivals": [], "told": True}
    active = next(one for one in receipt["skew"] if one["ledger"] == "active")
    assert (active["known_count"], active["least_bytes"], active["median_bytes"], active["most_process"]) == (8, GIB, GIB, 4)
    assert active["most_bytes"] >= 6 * GIB
    assert [process["levels"]["active_bytes"] for process in receipt["processes"] if process["rank"] != 3] == [(1 + rank % 2) * GIB for rank in (0, 1, 2, 4, 5, 6, 7)]


def test_every_rank_has_the_receipt_it_gets_alone_and_another_program_agrees_with_each(leaking_job, tmp_path):
    replay(leaking_job, "--receipts", tmp_path / "receipts", "--json", tmp_path / "job.json", code=10)
    receipt = json.loads((tmp_path / "job.json").read_text())

    for process in receipt["processes"]:
        path = tmp_path / "receipts" / f"rank-{process['rank']}.json"
        assert json.loads(path.read_text())["digest"]["receipt"] == process["receipt"]
    rings = {json.loads(replay(ring, "--json", "-").stdout)["environment"]["rank"]: ring for ring in sorted(leaking_job.glob("ring-*.bin"))}
    for rank, ring in rings.items():
        assert oracle("--receipt", tmp_path / "receipts" / f"rank-{rank}.json", ring).returncode == 0
    assert replay(leaking_job, "--receipts", tmp_path / "receipts").returncode == 5, "receipts that are there stay as they are"


@pytest.mark.card_changes
def test_a_rank_whose_card_another_rank_took_is_the_victim_and_the_other_is_named(bench):
    run_ranks(bench, "one_card", 2)

    screen = replay(bench.folder, code=10).stdout
    assert first_line(screen, "FIRST, A VICTIM").split(" on ")[0] == "FIRST, A VICTIMrank 1"
    assert re.search(r"rank 0 held 6\.\d\d GiB of the card", first_line(screen, "CULPRIT"))
    receipt = job_receipt(bench.folder)
    assert roles(receipt) == ["followed", "victim"]
    (held,) = receipt["processes"][1]["held_by"]
    assert held["process"] == 1 and held["bytes"] >= 6 * GIB


def test_torchruns_own_ranks_are_one_job_with_their_numbers(bench):
    program = bench.folder / "own.py"
    program.write_text(
        "import os, time\nimport torch\n"
        "rank = int(os.environ['RANK'])\nheld = torch.empty((1 + rank) << 30, dtype=torch.uint8, device=f'cuda:{rank}')\n"
        "if rank == 1:\n    torch.empty(9 << 30, dtype=torch.uint8, device='cuda:1')\ntime.sleep(100)\n"
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", "--nproc-per-node=2", "--rdzv-id=own", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", program]
    bench.run(*launcher, simcuda=("--total", "8GiB", "--devices", "2"), MEMSNAP_RING_MB="1", MEMSNAP_QUIET="1")

    receipt = job_receipt(bench.folder)
    # Killed by its launcher: whether its last sign of life came behind the failure is a matter of a second.
    assert [(process["rank"], process["role"]) for process in receipt["processes"]] in ([(0, role), (1, "failed_first")] for role in ("followed", "killed"))
    assert receipt["job"]["world_size"] == 2 and receipt["job"]["missing"] == []


def test_without_a_failure_the_peaks_of_the_ranks_are_compared(bench):
    run_ranks(bench, "well", 2)

    screen = replay(bench.folder, code=0).stdout
    assert first_line(screen, "NO FAILURE") and "at each one's own peak" in screen
    receipt = job_receipt(bench.folder)
    assert receipt["first"] is None and roles(receipt) == ["ended", "ended"]
    active = receipt["skew"][0]
    assert (active["ledger"], active["least_bytes"], active["most_bytes"], active["most_process"]) == ("active", GIB, 4 * GIB, 2)


# ---------------------------------------------------------------- made ranks


def encode(path: pathlib.Path, rank: int, *, world: int = 4, failed_ns: int | None = None, events: str = "", last_ns: int = 5 * SECOND_NS, end: str = "killed",
           offset_ns: int = 0, before: str = "", anchors: bool = True, **header: object) -> None:
    """A recording of a second or so of a process of this host that is gone: one block of 1 MiB and one for each rank, an answer of the device, perhaps a failure. Times: ns after START_NS."""
    facts = {"ring_records": 64, "rank": rank, "world_size": world, "job_key": 7, "job_key_source": "launcher", "host_key": here(), "pid": 100 + rank,
             "pid_namespace": own_process()["pid_namespace"], "process_start_ticks": 1 + rank, "clock_source": "monotonic_ns"} | header
    lines = [
        "memsnap-events 1", "header " + " ".join(f"{name}={value}" for name, value in facts.items()) + f" {before}",
        f"anchor counter=0 monotonic_ns=0 realtime_ns={START_NS + offset_ns}",
        "segment s 400MiB time=1000000", f"alloc a s+0 {1 + rank % 300}MiB", "mem_info total=1GiB free=600MiB", events,
    ]
    if failed_ns is not None:
        lines += [f"time {failed_ns}", "failing 800MiB total=1GiB free=20MiB"]
    lines += [f"anchor counter={last_ns} monotonic_ns={last_ns} realtime_ns={START_NS + offset_ns + last_ns}", end]
    if not anchors:
        lines = [line for line in lines if not line.startswith("anchor")]
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([ENCODE, "-", path], input="\n".join(lines) + "\n", text=True, check=True)


def test_the_order_of_failures_on_one_host_is_told_down_to_a_millisecond(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS + 3_000_000)
    encode(folder / "b.bin", 1, failed_ns=2 * SECOND_NS)

    receipt = job_receipt(folder)
    assert roles(receipt) == ["failed", "failed_first"] and receipt["first"]["told"]
    assert [process["failed_ns"] for process in receipt["processes"]] == [3_000_000, 0]


def test_failures_nearer_than_the_clocks_are_in_no_order_and_the_report_says_so(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS + 100_000_000, host_key=2)
    encode(folder / "b.bin", 1, failed_ns=2 * SECOND_NS)

    receipt = job_receipt(folder)
    assert roles(receipt) == ["failed", "failed"]
    assert receipt["first"] == {"clocks_compared": True, "process": 2, "rivals": [1], "told": False}
    screen = replay(folder).stdout
    assert "ranks 0-1: which was first cannot be told" in screen and "taken to be within 128 ms" in screen
    closer = job_receipt(folder, "--clocks-within", "50")
    assert roles(closer) == ["failed", "failed_first"] and closer["first"]["clocks_compared"]


def test_a_rank_that_went_before_the_first_failure_did_not_follow_it(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=4 * SECOND_NS)
    encode(folder / "b.bin", 1, end="exit 1", last_ns=SECOND_NS)  # an error of its own, earlier
    encode(folder / "c.bin", 2, end="exit 1", last_ns=5 * SECOND_NS)
    encode(folder / "d.bin", 3, last_ns=3 * SECOND_NS)  # killed, perhaps before, perhaps after
    encode(folder / "e.bin", 4, last_ns=SECOND_NS, world=6)
    encode(folder / "f.bin", 5, end="exit 0", world=6)

    receipt = job_receipt(folder)
    assert [(process["role"], process["order"]) for process in receipt["processes"]] == [
        ("failed_first", "none"), ("ended", "before"), ("followed", "after"), ("killed", "untold"), ("killed", "before"), ("ended", "after"),
    ]
    assert re.search(r"ended: exit 1, before it", replay(folder).stdout)


def test_ranks_without_a_recording_are_missing_and_a_rank_without_a_level_has_a_dash(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 1, world=16, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 9, world=16, offset_ns=3 * SECOND_NS)  # started after the failure

    receipt = job_receipt(folder)
    assert receipt["job"]["missing"] == [{"first_rank": 0, "last_rank": 0}, {"first_rank": 2, "last_rank": 8}, {"first_rank": 10, "last_rank": 15}]
    assert [receipt["processes"][1]["levels"][f"{ledger}_bytes"] for ledger in LEDGERS] == [None] * 4
    assert receipt["skew"] == []
    screen = replay(folder).stdout
    assert "no recording here of ranks 0, 2-8, 10-15" in screen
    assert re.search(r"^ +9 .*( +-){4}$", screen, re.M)


def test_the_newest_of_several_jobs_is_read_and_the_others_are_named(tmp_path):
    folder = tmp_path / "runs"
    encode(folder / "old/node-a/a.bin", 0, job_key=5, failed_ns=2 * SECOND_NS)
    encode(folder / "old/node-b/b.bin", 1, job_key=5)
    time.sleep(0.05)
    encode(folder / "new/a.bin", 0, job_key=6, end="exit 0")

    newest = replay(folder, code=0).stdout
    assert "job 0x6" in newest and "--job 2: 0x5, 2 files" in newest
    assert replay(folder, "--job", "2", code=10).stdout == replay(folder, "--job", "0x5", code=10).stdout
    replay(folder, "--job", "2", "--json", tmp_path / "old.json", code=10)
    assert replay("--job", "2", "check", "--receipt", tmp_path / "old.json", folder, code=0).stdout.startswith("OK")
    refused = replay(folder, "--job", "3", code=2)
    assert "has no job 3" in refused.stderr
    named = replay(folder / "old/node-a/a.bin", folder / "new/a.bin", code=10).stdout
    assert "recordings of 2 jobs, taken as one since they were named" in named


def test_damaged_and_foreign_files_are_lines_of_the_report_and_the_others_go_on(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1, events="alloc b s+0 1MiB")  # overlaps the first block
    encode(folder / "c.bin", 2)
    (folder / "cut.bin").write_bytes((folder / "c.bin").read_bytes()[:70000])
    (folder / "weights.bin").write_bytes(b"no recording at all")
    (folder / "dangling.bin").symlink_to("nowhere")
    (folder / "loop").symlink_to(folder)

    screen = replay(folder, code=10).stdout
    assert re.search(r"^ +1 unreadable: corrupt", screen, re.M)
    assert "1 other file is no recording" in screen
    assert re.search(r"unread +\S*cut\.bin: is", screen) and re.search(r"unread +\S*b\.bin: ", screen)
    receipt = job_receipt(folder)
    assert roles(receipt) == ["failed_first", "unreadable", "followed"]
    assert receipt["processes"][1]["verdict"] is None and receipt["job"]["unread_count"] == 1


def test_where_nothing_can_be_read_the_error_is_the_exit_status(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "c.bin", 2)
    (folder / "c.bin").write_bytes((folder / "c.bin").read_bytes()[:70000])
    assert replay(folder).returncode == 4
    (folder / "c.bin").unlink()
    empty = replay(folder, code=2)
    assert "holds no recording" in empty.stderr


def test_what_is_of_one_recording_is_refused_for_a_job_and_the_other_way_round(tmp_path):
    encode(tmp_path / "job/a.bin", 0)

    assert "--csv is of one recording, and a job was named" in replay(tmp_path / "job", "--csv", "x.csv", code=2).stderr
    assert "--receipts is of a folder or several recordings" in replay(tmp_path / "job/a.bin", "--receipts", "x", code=2).stderr
    assert "needs --receipt" in replay("check", tmp_path / "job", code=2).stderr


def test_a_receipt_of_a_job_that_was_changed_is_refused_with_the_field(tmp_path):
    folder = tmp_path / "job"
    encode(folder / "a.bin", 0, failed_ns=2 * SECOND_NS)
    encode(folder / "b.bin", 1)
    receipt = job_receipt(folder)
    receipt["processes"][1]["role"] = "ended"
    (tmp_path / "forged.json").write_text(json.dumps(receipt, sort_keys=True, separators=(",", ":")))

    refused = replay("check", "--receipt", tmp_path / "forged.json", folder, code=6)
    assert "processes[1].role: the receipt says ended" in refused.stderr


def test_a_job_of_hundreds_of_ranks_fits_the_screen_and_takes_about_as_long_as_its_recordings_one_by_one(tmp_path):
    folder, one = tmp_path / "job", tmp_path / "one.bin"
    encode(one, 0, world=512, failed_ns=2 * SECOND_NS)
    encode(folder / "ring-17.bin", 17, world=512, failed_ns=2 * SECOND_NS)
    for rank in range(512):
        if rank != 17:
            encode(folder / f"node-{rank // 8}/ring-{rank}.bin", rank, world=512, host_key=1 + rank // 8, end="exit 1" if rank % 3 else "killed")

    began = time.monotonic()
    for _ in range(8):
        replay(one)
    alone_s = (time.monotonic() - began) / 8
    began = time.monotonic()
    screen = replay(folder, code=10).stdout
    together_s = time.monotonic() - began

    assert together_s < 512 * alone_s, (together_s, alone_s)
    assert "512 of 512 ranks, 65 hosts" in screen  # the one that failed first is of this host
    assert_one_screen(screen)
    assert job_receipt(folder)["job"]["rank_count"] == 512
    assert re.search(r"^ +339 x .*followed: exit 1", screen, re.M) and re.search(r"^ +170 x .*no end seen, lived on after it", screen, re.M)


def test_nothing_but_numbers_and_words_is_in_a_jobs_receipt_and_the_schema_describes_it(leaking_job):
    receipt = job_receipt(leaking_job)
    jsonschema.validate(receipt, json.loads((TOP / "docs/job.schema.json").read_text()))
    text = canonical(receipt)
    assert "ring-" not in text and str(leaking_job) not in text and "/" not in text
