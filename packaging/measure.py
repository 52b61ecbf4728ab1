# SPDX-License-Identifier: Apache-2.0
"""What packages weigh and what they cost to start: sizes of the files, and the time of short programs with the recorder preloaded beside
the same without it. The rule: ratios of least times in one run; nothing here passes or fails."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

RUNS = 40


def least_seconds(command: list, *environments: dict) -> list:
    """One number an environment; they take turns, so that a busy machine is busy for all."""
    least = [float("inf")] * len(environments)
    for _ in range(RUNS):
        for index, environment in enumerate(environments):
            begin = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            least[index] = min(least[index], time.perf_counter() - begin)
    return least


def sizes(files: list) -> list:
    return [f"  {file.name:<58} {file.stat().st_size:>12,} bytes" for file in files]


def starts(tree: pathlib.Path) -> list:
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("MEMSNAP_")}
    preloaded = plain | {"LD_PRELOAD": str(tree / "lib/libmemsnap.so")}
    lines = []
    for title, command in (("/bin/true", ["/bin/true"]), ("python3 -c pass", [sys.executable, "-I", "-c", "pass"])):
        without, beside = least_seconds(command, plain, preloaded)
        lines.append(f"  {title:<28} {without * 1e3:7.2f} ms   preloaded {beside * 1e3:7.2f} ms   ratio {beside / without:.2f}")
    for program in ("memsnap-replay", "memsnap-oracle", "memsnap"):
        (seconds,) = least_seconds([str(tree / "bin" / program), "--help"], plain)
        lines.append(f"  {program + ' --help':<28} {seconds * 1e3:7.2f} ms")
    return lines
