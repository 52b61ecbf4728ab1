# SPDX-License-Identifier: Apache-2.0
"""How long a verdict and a page take, as a ratio to torch's own snapshot and its tools on the same job in the same run."""

import os
import pathlib
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(__file__).with_name("replay_worker.py")
PYTHON = TOP / "build/venv/bin/python"
EVENTS = 1_040_000
ROUNDS = 5


def run_job(arguments: list[str], environment: dict[str, str]) -> str:
    command = [TOP / "scripts/with_simcuda", "--", PYTHON, WORKER, *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def timed(command: list, drop: pathlib.Path) -> tuple[float, int]:
    """Seconds and peak resident kB of `command`, with the file `drop` thrown out of the page cache first; the minimum of ROUNDS."""
    best_s, best_kb = float("inf"), 0
    for _ in range(ROUNDS):
        with open(drop, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        if elapsed < best_s:
            best_s, best_kb = elapsed, usage.ru_maxrss
    return best_s, best_kb


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ring, pickle = pathlib.Path(folder, "ring.bin"), pathlib.Path(folder, "snapshot.pickle")
        preload = dict(os.environ, LD_PRELOAD=str(TOP / "build/interpose/libmemsnap.so"), MEMSNAP_OUT=str(ring), MEMSNAP_QUIET="1")
        run_job([str(EVENTS)], preload)
        dump_s = float(run_job([str(EVENTS), str(pickle)], dict(os.environ)))
        replay_s, replay_kb = timed([TOP / "build/replay/memsnap-replay", ring], ring)
        import_s, import_kb = timed([TOP / "build/replay/memsnap-replay", pickle], pickle)
        viz_s, viz_kb = timed([PYTHON, "-m", "torch.cuda._memory_viz", "stats", pickle], pickle)
        page, plot = pathlib.Path(folder, "page.html"), pathlib.Path(folder, "plot.html")
        page_s, page_kb = timed([TOP / "build/replay/memsnap-replay", ring, "--html", page, "--force"], ring)
        plot_s, plot_kb = timed([PYTHON, "-m", "torch.cuda._memory_viz", "trace_plot", pickle, "-o", plot], pickle)
        page_mb, plot_mb = (file.stat().st_size / 2**20 for file in (page, plot))
    print(f"a job of {EVENTS} block events, its files out of the page cache (minimum of {ROUNDS} runs)")
    print(f"  memsnap-replay, verdict               {replay_s:8.3f} s  {replay_kb / 1024:8.0f} MB")
    print(f"  memsnap-replay, of torch's snapshot   {import_s:8.3f} s  {import_kb / 1024:8.0f} MB")
    print(f"  torch _dump_snapshot                  {dump_s:8.3f} s")
    print(f"  torch _memory_viz stats (no verdict)  {viz_s:8.3f} s  {viz_kb / 1024:8.0f} MB")
    print(f"  torch's way / memsnap                 {(dump_s + viz_s) / replay_s:8.0f} times the time")
    print(f"  memsnap-replay, page                  {page_s:8.3f} s  {page_kb / 1024:8.0f} MB  a file of {page_mb:6.1f} MB")
    print(f"  torch _memory_viz trace_plot          {plot_s:8.3f} s  {plot_kb / 1024:8.0f} MB  a file of {plot_mb:6.1f} MB")
    print(f"  torch's plot / memsnap's page         {(dump_s + plot_s) / page_s:8.0f} times the time, {plot_mb / page_mb:.0f} times the bytes")
    print(f"  torch _memory_viz stats / memsnap, both of the snapshot {viz_s / import_s:8.1f} times the time")


if __name__ == "__main__":
    main()
