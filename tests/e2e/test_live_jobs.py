# SPDX-License-Identifier: Apache-2.0
"""Running PyTorch jobs as `memsnap top`, `memsnap serve` and `memsnap-replay live` see them: a real terminal's screen, real scrapes, jobs that die
meanwhile; and that a job does not notice."""

import codecs
import concurrent.futures
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import urllib.error
import urllib.request

import pyte
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from conftest import REPLAY, TOP

MIB = 1 << 20
MEMSNAP = (sys.executable, "-m", "memsnap")
WAIT_SECONDS = 60


def environment(**extra: str) -> dict:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "SIMCUDA_", "COLUMNS", "LINES", "NO_COLOR"))}
    return kept | {"MEMSNAP_REPLAY": str(REPLAY), "PYTHONPATH": str(TOP / "python"), "LC_ALL": "C.UTF-8", "TERM": "linux"} | extra


class WatchedJob:
    """programs/watched.py, which waits for what it is told."""

    def __init__(self, bench, **extra: str):
        self.bench = bench
        command = bench.command("watched.py")
        self.process = subprocess.Popen(
            command, cwd=bench.folder, env=bench.environment(**extra), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        word, pid = self.process.stdout.readline().split()
        assert word == "ready"
        self.pid = int(pid)

    def ask(self, line: str) -> str:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    @property
    def ring(self) -> pathlib.Path:
        (ring,) = self.bench.folder.glob(f"ring-{self.pid}.bin")
        return ring

    def look(self) -> dict:
        done = subprocess.run([REPLAY, "live", self.ring], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)

    def end(self) -> int:
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        return self.process.wait(timeout=120)


@pytest.fixture
def job(bench):
    job = WatchedJob(bench, RANK="3", WORLD_SIZE="8")
    yield job
    if job.process.poll() is None:
        os.kill(job.pid, signal.SIGCONT)
    job.end()


class Terminal:
    """`memsnap top` on a terminal of its own, and what a person sees there."""

    def __init__(self, columns: int, rows: int, *arguments, cwd=None, **extra: str):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.Stream(self.screen)
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.sent = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.chdir(cwd or "/")
                os.execve(sys.executable, [*MEMSNAP, "top", *map(str, arguments)], environment(**extra))
            finally:
                os._exit(127)

    def pump(self, seconds: float) -> bool:
        """Takes what comes; False when the program is gone."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.sent += data
        self.stream.feed(self.decoder.decode(data))
        return bool(data)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, *wanted: str) -> str:
        """The screen once all of these patterns are on it."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            if all(re.search(pattern, self.text) for pattern in wanted):
                return self.text
            assert self.pump(0.1), f"it ended with {wanted} not shown:\n{self.text}"
        raise AssertionError(f"{wanted} not shown:\n{self.text}")

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            self.pump(0.1)
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                while self.pump(0.1) and select.select([self.master], [], [], 0)[0]:
                    pass
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it does not end")


def test_a_look_at_a_running_job_tells_what_pytorch_itself_tells(job):
    job.ask("steps 12")
    allocated, reserved, peak, free = map(int, job.ask("tell").split())
    view = job.look()
    device = view["devices"][0]
    assert (view["state"], view["alive"], view["pid"], view["rank"], view["world_size"]) == ("recording", True, job.pid, 3, 8)
    assert (device["active_bytes"], device["reserved_bytes"], device["peak_active_bytes"]) == (allocated, reserved, peak)
    assert (device["free_bytes"], device["margin_bytes"]) == (free, free + reserved - allocated)
    assert 0 <= device["report_age_ns"] and 0 <= device["device_age_ns"] <= device["report_age_ns"] + 60_000_000_000
    assert (device["trend"]["bytes_per_step"], device["trend"]["growing"], device["trend"]["family"]) == (4 * MIB, True, "step")
    assert device["trend"]["full_in_steps"] == (free + reserved - peak) // (4 * MIB)
    (kept,) = [site for site in device["sites"] if site["label"] and "keep (watched.py" in site["label"]]
    assert (kept["bytes"], kept["blocks_count"]) == (12 * 4 * MIB, 12)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_a_terminal_shows_the_running_job_its_lanes_trend_and_sites(job, columns, rows):
    job.ask("steps 12")
    terminal = Terminal(columns, rows, "--interval", "0.2")
    shown = terminal.until(rf"{job.pid} +3 +0 recording", r"keep \(watched.py", r"available . ")
    assert re.search(r"\+4\.0 MiB a step over 9 steps: full in about [\d,]+ steps", " ".join(shown.split()))
    assert re.search(r"≈[\d,]+ +█", shown) and "cuda:0 8.00 GiB" in shown and "rank 3 of 8" in shown
    job.ask("steps 30")
    terminal.until(r"\+4\.0 MiB a step over 32 steps", r" 4[2-9]  keep \(watched.py")
    terminal.press("?")
    terminal.until(r"FULL IN  steps until")
    terminal.press("?")
    terminal.press("s")
    terminal.until(r"by full in, GiB")
    terminal.press("q")
    assert terminal.end() == 0
    assert terminal.sent.rfind(b"\x1b[?25h") > terminal.sent.rfind(b"\x1b[?25l") >= 0  # the cursor is back


def test_the_terminal_may_change_its_size(job):
    job.ask("steps 12")
    terminal = Terminal(80, 24, "--interval", "0.2")
    terminal.until("keep")
    terminal.resize(120, 40)
    terminal.until("ACTIVE OVER TIME", "q quit")
    terminal.resize(40, 8)
    terminal.until("q quit")
    terminal.press("q")
    assert terminal.end() == 0


def test_a_job_that_runs_out_of_memory_while_it_is_watched_stays_with_its_cause(job):
    job.ask("steps 3")
    terminal = Terminal(120, 40, "--interval", "0.2")
    terminal.until(f"{job.pid} +3 +0 recording")
    job.ask("fill")
    assert job.end() == 1
    shown = terminal.until(r"ended 1|killed", r"out of memory: live-set", r"read it:\s+memsnap-replay")
    assert f"ring-{job.pid}.bin" in shown
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_cleanly(tmp_path, number):
    terminal = Terminal(80, 24)
    terminal.until("no recording found|recording|killed|ended|cold|detached")
    os.kill(terminal.pid, number)
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.sent


def test_colour_is_for_what_failed_and_not_with_no_color(job):
    job.ask("fill")
    job.end()
    red = re.compile(rb"\x1b\[[\d;]*3[18](;|m)")
    for extra, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal = Terminal(80, 24, job.ring, **extra)
        terminal.until("read it")
        terminal.press("q")
        assert terminal.end() == 0 and bool(red.search(terminal.sent)) == coloured


def top(*arguments, **extra: str) -> subprocess.CompletedProcess:
    return subprocess.run([*MEMSNAP, "top", *map(str, arguments)], env=environment(**extra), capture_output=True, text=True, timeout=120)


def test_in_a_pipe_it_prints_one_look_and_ends(job):
    job.ask("steps 12")
    done = top(job.pid)
    assert done.returncode == 0 and done.stderr == ""
    assert re.search(rf"{job.pid} +3 +0 recording", done.stdout) and "keep (watched.py" in done.stdout and "\x1b" not in done.stdout
    hidden = top(job.ring, "--no-names", LC_ALL="C")
    assert "keep" not in hidden.stdout and re.search(r"site-[0-9a-f]{16}", hidden.stdout) and hidden.stdout.isascii()
    closed = subprocess.run(["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "-", *MEMSNAP, "top", str(job.ring)], env=environment(), capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_targets_that_name_nothing_are_refused_with_the_reason(tmp_path):
    for command in ("top", "serve"):
        done = subprocess.run([*MEMSNAP, command, str(tmp_path / "none.bin")], env=environment(), capture_output=True, text=True, timeout=60)
        assert done.returncode == 3 and "no such recording" in done.stderr and "Traceback" not in done.stderr


class Served:
    """`memsnap serve` on a free port."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([*MEMSNAP, "serve", "--listen", "127.0.0.1:0", *map(str, arguments)], env=environment(), stderr=subprocess.PIPE, text=True)
        self.first = self.process.stderr.readline()
        self.url = re.search(r"http://127\.0\.0\.1:\d+/", self.first).group()

    def get(self, path: str = "metrics", **headers: str) -> str:
        request = urllib.request.Request(self.url + path, headers={"Accept": "application/openmetrics-text; version=1.0.0"} | headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def values(self, name: str) -> list:
        return [sample.value for family in text_string_to_metric_families(self.get()) for sample in family.samples if sample.name == name]

    def end(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self.process.stderr.close()
        return code


@pytest.fixture
def served(job):
    served = Served(job.bench.folder)
    yield served
    assert served.end() == 0


def test_a_scrape_tells_what_pytorch_itself_tells_and_follows_the_job(job, served):
    job.ask("steps 12")
    allocated, _, _, _ = job.ask("tell").split()
    time.sleep(1.1)  # a reading is good for a second
    assert served.values("memsnap_active_bytes") == [float(allocated)]
    assert served.values("memsnap_trend_bytes_per_step") == [4 * MIB]
    job.ask("steps 1")
    time.sleep(1.1)
    assert served.values("memsnap_active_bytes") == [float(allocated) + 4 * MIB]


def test_a_job_that_is_killed_between_scrapes_is_told_of_as_killed(job, served):
    assert served.values("memsnap_recordings")[0] == 1
    job.process.stdin.write("steps 100000\n")
    job.process.stdin.flush()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        scrapes = [pool.submit(served.get) for _ in range(16)]
        os.kill(job.pid, signal.SIGKILL)
        job.process.wait(timeout=60)
        scrapes += [pool.submit(served.get) for _ in range(16)]
        for scrape in scrapes:
            assert list(text_string_to_metric_families(scrape.result()))
    time.sleep(1.1)
    assert 'state="killed"} 1.0' in served.get() and served.values("memsnap_events_total")[0] > 0


def test_a_recording_that_is_cut_short_costs_its_own_line_alone(job, served, tmp_path):
    """Done to a copy: the writer of a recording must not find it shorter."""
    copy = job.bench.folder / "cut.bin"
    copy.write_bytes(job.ring.read_bytes())
    served.get()
    os.truncate(copy, 70_000)
    time.sleep(6.1)  # a new look around, and a new reading
    assert len(served.values("memsnap_active_bytes")) == 1
    copy.unlink()


def test_it_has_two_pages_and_answers_to_names_of_the_loopback_address_alone(served):
    assert "/metrics" in served.get("") and "memsnap_up" in served.get()
    for path, headers, code in (("etc/passwd", {}, 404), ("../metrics", {}, 404), ("metrics", {"Host": "attacker.example"}, 403)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            served.get(path, **headers)
        assert refused.value.code == code
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(served.url + "metrics", data=b"x", timeout=30)
    assert refused.value.code == 501


def test_clients_that_say_nothing_do_not_keep_others_from_being_answered(served):
    host, port = served.url.removeprefix("http://").rstrip("/").split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(20)]
    try:
        assert "memsnap_up" in served.get()
    finally:
        for connection in silent:
            connection.close()


def test_without_prometheus_client_it_says_what_to_install(tmp_path):
    (tmp_path / "prometheus_client.py").write_text("raise ImportError('not here')\n")
    done = subprocess.run([*MEMSNAP, "serve"], env=environment(PYTHONPATH=f"{tmp_path}:{TOP / 'python'}"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "pip install 'memsnap[serve]'" in done.stderr


def test_addresses_are_taken_or_refused_by_name():
    for address, code, text in (("127.0.0.1", 2, "is no HOST:PORT"), ("::1:80", 2, "is no HOST:PORT"), ("203.0.113.1:0", 5, "cannot listen")):
        done = subprocess.run([*MEMSNAP, "serve", "--listen", address], env=environment(), capture_output=True, text=True, timeout=60)
        assert done.returncode == code and text in done.stderr


def digest(folder: pathlib.Path) -> list:
    return [(path.name, path.stat().st_mtime_ns, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(folder.glob("ring-*"))]


def test_watching_changes_no_byte_and_no_time_of_a_recording(job, served):
    job.ask("steps 12")
    os.kill(job.pid, signal.SIGSTOP)
    time.sleep(0.3)
    subprocess.run(["sync", *map(str, job.bench.folder.glob("ring-*"))], check=True)
    before = digest(job.bench.folder)
    assert "recording" in top(job.ring).stdout
    served.get(), job.look()
    assert digest(job.bench.folder) == before


def test_a_job_runs_as_fast_beside_them(job):
    """CPU time of its steps, which other programs of this machine do not add to; each way in turn, the least of each."""
    job.ask("lap 20")
    alone, watched = [], []
    for _ in range(4):
        alone.append(int(job.ask("lap 100")))
        terminal, served = Terminal(120, 40, "--interval", "0.1"), Served(job.bench.folder)
        terminal.until("recording")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            lap = pool.submit(job.ask, "lap 100")
            while not lap.done():
                served.get()
                terminal.pump(0.05)
            watched.append(int(lap.result()))
        terminal.press("q")
        assert terminal.end() == 0 and served.end() == 0
    assert min(watched) / min(alone) < 1.3
