# SPDX-License-Identifier: Apache-2.0
"""`memsnap arm`, `disarm` and `status` on recordings of a stand-in job that answers as the recorder does."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import pytest

from stand_in_job import header

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"
JOB = pathlib.Path(__file__).with_name("stand_in_job.py")
ENDED = {"pid": 2**22 + 1}  # more than any process id


@pytest.fixture
def jobs(tmp_path):
    """jobs(name, *words): a running stand-in job with a recording of that name; its process and file."""
    started = []

    def start(name="ring.bin", *words):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        job = subprocess.Popen([sys.executable, "-S", JOB, path, *words], stdout=subprocess.PIPE, text=True)
        started.append(job)
        assert job.stdout.readline() == "ready\n"
        return job, path

    yield start
    for job in started:
        job.kill()
        job.wait()
        job.stdout.close()


@pytest.fixture
def memsnap(tmp_path):
    def run(*arguments, user=None):
        """As another user: after the program was loaded, which that user may not be able to read."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSNAP_")} | {"PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
        become = f"import os, sys; from memsnap._commands import make_parser; o = make_parser('', None).parse_args(); os.setuid({user}); sys.exit(o.function(o))"
        command = [sys.executable, *(["-m", "memsnap"] if user is None else ["-c", become]), *map(str, arguments)]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


def states(done) -> dict:
    return {row["file"]: row["state"] for row in json.loads(done.stdout)}


def test_a_job_is_armed_and_disarmed_by_its_process_id_and_status_tells_each_state(jobs, memsnap):
    job, path = jobs()

    assert states(memsnap("status", job.pid, "--json")) == {str(path): "cold"}
    armed = memsnap("arm", job.pid)
    assert (armed.returncode, armed.stdout, armed.stderr) == (0, f"armed  pid {job.pid}  {path}\n", "")
    assert states(memsnap("status", "--json", job.pid)) == {str(path): "recording"}
    assert memsnap("disarm", job.pid).stdout == f"disarmed  pid {job.pid}  {path}\n"
    assert states(memsnap("status", "--json", job.pid)) == {str(path): "disarmed"}
    assert [job.stdout.readline() for _ in range(2)] == ["wish 1 until 0\n", "wish 5 until 0\n"]


def test_arming_for_a_time_tells_the_job_when_to_stop_on_the_clock_that_no_one_sets(jobs, memsnap):
    job, path = jobs()
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    assert memsnap("arm", path, "--for", "5m").returncode == 0

    until = int(job.stdout.readline().split()[3])
    assert before + 300 * 10**9 <= until <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 300 * 10**9
    table = memsnap("status", path).stdout
    assert "armed until " in table and str(job.pid) in table


@pytest.mark.parametrize("option, wish", [((), 5), (("--cold",), 2), (("--standby",), 3)])
def test_disarm_asks_for_the_state_it_was_told(jobs, memsnap, option, wish):
    job, path = jobs()

    assert memsnap("disarm", path, *option).returncode == 0
    assert job.stdout.readline() == f"wish {wish} until 0\n"


def test_a_folder_and_a_pattern_name_the_running_ones_and_pass_over_the_others(jobs, memsnap, tmp_path):
    running = [jobs(f"rings/ring-{index}.bin")[1] for index in range(2)]
    (tmp_path / "rings/ring-old.bin").write_bytes(header(**ENDED))
    (tmp_path / "rings/ring-old.bin.names").write_bytes(b"\x89MEMNAME" + bytes(1000))
    (tmp_path / "rings/notes.txt").write_text("not a recording")

    for target in (tmp_path / "rings", "rings/ring-*"):
        done = memsnap("arm", target)
        assert done.returncode == 0 and all(str(path.name) in done.stdout for path in running)
        assert done.stderr == "passed over: 1 of processes that have ended\n"


def test_what_cannot_be_done_is_said_for_each_with_a_way_out_and_the_rest_is_done(jobs, memsnap, tmp_path):
    _, good = jobs("good.bin")
    _, refusing = jobs("refusing.bin", "refuses")
    old, names, text = tmp_path / "old.bin", tmp_path / "good.bin.names", tmp_path / "text"
    old.write_bytes(header(**ENDED))
    names.write_bytes(b"\x89MEMNAME" + bytes(1000))
    text.write_text("hello")

    done = memsnap("arm", good, refusing, old, names, text, "nowhere.bin", "1")

    assert done.returncode == 1 and done.stdout.count("\n") == 1 and str(good) in done.stdout
    for said in (f"{refusing}: the disk has no room", "old.bin: its process has ended", "name the recording itself", "text: not a recording", "nowhere.bin: no such recording", "pid 1: "):
        assert said in done.stderr


def test_a_folder_that_may_not_be_read_is_said_without_a_traceback(memsnap):
    for command in ("arm", "status"):
        done = memsnap(command, "/proc/1/fd", user=65534 if os.geteuid() == 0 else None)
        assert done.stderr.endswith("/proc/1/fd: cannot be read: Permission denied\n") and done.stderr.count("\n") == 1 and done.returncode == 3


def test_a_command_that_is_interrupted_or_whose_reader_is_gone_ends_without_a_traceback(jobs):
    _, path = jobs("deaf.bin", "deaf")
    environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
    with subprocess.Popen([sys.executable, "-m", "memsnap", "arm", str(path), "--wait", "60s"], env=environment, stderr=subprocess.PIPE, text=True) as asking:
        while path.read_bytes()[384:392] == bytes(8):
            time.sleep(0.01)
        asking.send_signal(signal.SIGINT)
        assert (asking.communicate(timeout=20)[1], asking.returncode) == ("", 130)
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:
        done = subprocess.run([sys.executable, "-m", "memsnap", "status", str(path)], env=environment, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 141)


def test_nothing_found_has_an_exit_code_of_its_own(memsnap, tmp_path):
    for arguments in (("arm", tmp_path), ("arm", "*.bin"), ("disarm", tmp_path / "none.bin"), ("status", tmp_path), ("arm", str(ENDED["pid"]))):
        done = memsnap(*arguments)
        assert done.returncode == 3 and done.stderr and done.stdout == "", arguments


@pytest.mark.parametrize("arguments", [("arm",), ("arm", "x", "--for", "soon"), ("arm", "x", "--for", "0"), ("disarm", "x", "--cold", "--standby"), ("arm", "x", "--wait", "-1")])
def test_a_command_line_that_makes_no_sense_is_a_matter_of_usage(memsnap, arguments):
    assert memsnap(*arguments).returncode == 2


def test_a_job_that_does_not_answer_is_told_apart_and_is_not_waited_for_longer_than_asked(jobs, memsnap):
    _, path = jobs("deaf.bin", "deaf")

    done = memsnap("arm", path, "--wait", "0.3s")

    assert done.returncode == 1 and "asked, and no answer in 0.3 s" in done.stderr


def test_a_job_that_ends_instead_of_answering_is_said_to_have_ended(jobs, memsnap):
    job, path = jobs("deaf.bin", "deaf")
    command = [sys.executable, "-m", "memsnap", "arm", str(path), "--wait", "30s"]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(PACKAGE)}, stderr=subprocess.PIPE, text=True) as asking:
        while path.read_bytes()[384:392] == bytes(8):
            time.sleep(0.01)
        job.kill()
        job.wait()
        assert asking.wait(timeout=20) == 1 and "its process ended before it answered" in asking.stderr.read()


def test_requests_are_numbered_on_so_that_an_answer_is_never_that_of_an_earlier_one(jobs, memsnap):
    _, path = jobs("ring.bin", f"request={7 << 8 | 1}", f"answer={7 << 8 | 1}")

    for serial in (8, 9):
        assert memsnap("arm", path).returncode == 0
        assert int.from_bytes(path.read_bytes()[384:392], "little") == serial << 8 | 1


@pytest.mark.parametrize("make, said", [
    (lambda path, other: other.symlink_to(path), "symbolic link"),
    (lambda path, other: os.link(path, other), "2 names"),
    (lambda path, other: os.mkfifo(other), "not a"),
    (lambda path, other: other.write_bytes(path.read_bytes()[:700]), "cut off"),
    (lambda path, other: other.write_bytes(header(version=2)), "format 2.0"),
], ids=["symbolic link", "hard link", "fifo", "cut off", "version"])  # fmt: skip
def test_only_a_file_that_is_surely_a_recording_of_ones_own_is_written_to(jobs, memsnap, tmp_path, make, said):
    _, path = jobs()
    other = tmp_path / "other.bin"
    make(path, other)
    before = path.read_bytes()

    done = memsnap("arm", other, "--wait", "0.2s")

    assert done.returncode != 0 and said in done.stderr
    assert path.read_bytes()[384:408] == before[384:408] == bytes(24)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to act as two users")
def test_neither_another_user_nor_root_for_one_user_reaches_into_a_file_of_a_third(jobs, memsnap, tmp_path):
    job, path = jobs()
    assert "a process of user 0: ask as that user, or as root" in memsnap("arm", job.pid, user=65534).stderr
    os.chown(path, 65534, -1)

    done = memsnap("arm", path)

    assert done.returncode == 1 and "it belongs to user 65534, not to user 0" in done.stderr
    assert path.read_bytes()[384:392] == bytes(8)


def test_a_recording_left_for_a_newer_one_leads_to_that(jobs, memsnap, tmp_path):
    job, newer = jobs("ring-2.bin", "rank=3")
    ticks = int(pathlib.Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()[19])
    older = tmp_path / "ring.bin"
    older.write_bytes(header(pid=job.pid, ticks=ticks, superseded=1))

    assert memsnap("arm", older).stdout == f"armed  pid {job.pid}  {newer}\n"
    assert states(memsnap("status", "--json", older, newer)) == {str(older): "superseded", str(newer): "recording"}


@pytest.mark.parametrize("words, state", [
    ({"arm_state": 0}, "killed"), ({"exit_mark": 5, "exit_status": 3}, "ended"), ({"arm_state": 2}, "killed"),
    ({"arm_state": 1, "disarmed_at": 7}, "disarmed"), ({"arm_state": 1, "disarmed_at": 7, "channel": 3}, "detached"),
])  # fmt: skip
def test_status_says_how_a_recording_without_a_process_came_to_its_end(memsnap, tmp_path, words, state):
    path = tmp_path / "ring.bin"
    path.write_bytes(header(**ENDED, **words))

    assert states(memsnap("status", "--json", path)) == {str(path): state}


UNTIL = {"arm_state": 0, "until": 2**62}


@pytest.mark.parametrize("words, alive, gone, unseen", [
    ({"arm_state": 1}, "cold", "killed", "cold?"),
    ({"arm_state": 2}, "standby", "killed", "standby?"),
    ({"arm_state": 0}, "recording", "killed", "recording?"),
    (UNTIL, "armed until", "killed", "armed?"),
    (UNTIL | {"arm_state": 1, "disarmed_at": 7}, "disarmed", "disarmed, gone", "disarmed?"),
    (UNTIL | {"arm_state": 1, "disarmed_at": 7, "channel": 3}, "detached", "detached, gone", "detached?"),
    (UNTIL | {"superseded": 1}, "superseded", "superseded, gone", "superseded?"),
    (UNTIL | {"exit_mark": 5, "exit_status": 3}, "ended (3)", "ended (3)", "ended (3)"),
], ids=["cold", "standby", "recording", "armed", "disarmed", "detached", "superseded", "ended"])  # fmt: skip
def test_the_table_says_until_when_of_jobs_alone_that_are_known_to_live(memsnap, tmp_path, words, alive, gone, unseen):
    with open("/proc/self/stat", "rb") as stat:
        ticks = int(stat.read().rpartition(b")")[2].split()[19])
    for life, shown, known in (({"pid": os.getpid(), "ticks": ticks}, alive, True), (ENDED, gone, False), ({"host_key": 12345}, unseen, None)):
        path = tmp_path / "ring.bin"
        path.write_bytes(header(**words, **life))

        row = memsnap("status", path).stdout.splitlines()[1].split("  ")
        state = next(cell.strip() for cell in row[2:] if cell.strip() not in ("", "-"))
        assert state.startswith(shown) if shown == "armed until" else state == shown, row
        told = json.loads(memsnap("status", "--json", path).stdout)[0]
        assert (told["armed_until"] is not None) == (shown == "armed until") and told["alive"] is known


@pytest.mark.parametrize("words, said", [({"namespace": 4026532999}, "in another container"), ({"host_key": 12345}, "on another host")])
def test_a_job_that_cannot_be_seen_is_not_called_dead_and_can_be_asked_by_its_file(memsnap, tmp_path, words, said):
    path = tmp_path / "ring.bin"
    path.write_bytes(header(**words, ticks=1))
    seen_from_the_first = os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC
    if "namespace" in words and seen_from_the_first:
        pytest.skip("from the first pid namespace every process is seen")

    done = memsnap("status", path)
    assert "cold?" in done.stdout and said in done.stdout
    asked = memsnap("arm", path, "--wait", "0.2s")
    assert asked.returncode == 1 and "cannot be seen from here" in asked.stderr
    assert int.from_bytes(path.read_bytes()[384:392], "little") == 1 << 8 | 1


def test_status_without_a_name_finds_the_running_jobs_and_says_what_they_lost(jobs, memsnap):
    job, path = jobs("ring.bin", "rank=5", "lost=3", "failures=2", "arm_state=0")

    lines = [line.split() for line in memsnap("status").stdout.splitlines()]
    assert lines[0] == ["PID", "RANK", "STATE", "SIZE", "FAILURES", "LOST", "FILE"]
    assert [str(job.pid), "5", "recording", "64", "KiB", "2", "3", str(path)] in lines
    json_rows = json.loads(memsnap("status", "--json").stdout)
    assert [row["file"] for row in json_rows if row["pid"] == job.pid] == [str(path)]


def test_status_changes_no_byte_and_no_time_of_a_recording(jobs, memsnap):
    _, path = jobs("ring.bin", "deaf")
    before, times = path.read_bytes(), path.stat()

    memsnap("status")
    memsnap("status", path)
    assert path.read_bytes() == before and (path.stat().st_mtime_ns, path.stat().st_ctime_ns) == (times.st_mtime_ns, times.st_ctime_ns)


def test_a_name_that_would_move_the_cursor_is_shown_harmlessly(memsnap, tmp_path):
    path = tmp_path / "ring\x1b[2J\n.bin"
    path.write_bytes(header(**ENDED))

    done = memsnap("status", path)
    assert "\x1b" not in done.stdout and done.stdout.count("\n") == 2


def test_a_stopped_job_is_neither_waited_for_nor_woken(jobs, memsnap):
    job, path = jobs()
    job.send_signal(signal.SIGSTOP)
    try:
        assert "it answers when it runs on" in memsnap("arm", job.pid, "--wait", "0.2s").stderr
        assert pathlib.Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    finally:
        job.send_signal(signal.SIGCONT)
    assert job.stdout.readline() == "wish 1 until 0\n"


def test_hundreds_of_recordings_cost_about_as_much_as_one(memsnap, tmp_path):
    """CPU time of the command, beside the same command for one: the interpreter's own start is in both."""
    many, one = tmp_path / "many", tmp_path / "one"
    for folder, count in ((many, 512), (one, 1)):
        folder.mkdir()
        for index in range(count):
            (folder / f"ring-{index}.bin").write_bytes(header(host_key=12345)[:4096] + bytes(61440))

    def cpu_s(folder):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = memsnap("arm", folder, "--wait", "0.5s")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 1
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    alone = min(cpu_s(one) for _ in range(2))
    assert min(cpu_s(many) for _ in range(2)) < 20 * alone
