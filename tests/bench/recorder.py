# SPDX-License-Identifier: Apache-2.0
"""What recording costs, as ratios to torch's own recorder measured in the same run, without stacks and with them.

Each mode runs in several fresh processes, interleaved; the minimum counts. "added" is the difference to the same loop with nothing recording.
"""

import json
import os
import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
WORKER = pathlib.Path(__file__).with_name("recorder_worker.py")
ROUNDS = 4
PAIRS = 200_000
OFF = "nothing"
# What records: torch's own mode, or what the worker does besides; memsnap's MEMSNAP_STACK (None: it is not there); its MEMSNAP_ARM where that is set.
MODES = {
    OFF: ("off", None),
    "torch history": ("history", None),
    "memsnap": ("off", "off"),
    "memsnap and its torch tap": ("tap", "off"),
    "torch python": ("python", None),
    "torch python, allocations": ("python-alloc", None),
    "memsnap python": ("off", "python"),
    "torch all": ("all", None),
    "memsnap both": ("off", "both"),
    "memsnap cold": ("off", "off", "cold"),
    "memsnap armed from cold": ("arm", "off", "cold"),
    "memsnap standby": ("off", "auto", "standby"),
    "memsnap standby, no stacks": ("off", "off", "standby"),
    "memsnap armed from standby": ("arm", "off", "standby"),
}
# What is compared with what, and the bar where the design sets one.
PAIRS_OF_MODES = [
    ("memsnap", "torch history", 1),
    ("memsnap and its torch tap", "torch history", None),
    ("memsnap python", "torch python", 1 / 5),
    ("memsnap python", "torch python, allocations", None),
    ("memsnap both", "torch all", 1 / 6),
    ("memsnap cold", "memsnap", None),
    ("memsnap armed from cold", "memsnap", None),
    ("memsnap standby, no stacks", "memsnap", None),
    ("memsnap armed from standby", "memsnap", None),
]


def measure(mode: str, stacks: str | None, arm: str | None, folder: str) -> dict[str, float]:
    environment = dict(os.environ, MEMSNAP_OUT=f"{folder}/ring-%p.bin", MEMSNAP_TAP_DIR=f"{folder}/taps")
    if stacks is not None:
        environment |= {"LD_PRELOAD": str(BUILD / "interpose/libmemsnap.so"), "MEMSNAP_STACK": stacks}
    if arm is not None:
        environment["MEMSNAP_ARM"] = arm
    command = [TOP / "scripts/with_simcuda", "--", TOP / "build/venv/bin/python", WORKER, mode, str(PAIRS)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    for ring in pathlib.Path(folder).glob("ring-*.bin*"):
        ring.unlink()
    return json.loads(output)


def measure_all() -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        build = [TOP / "build/venv/bin/python", "-m", "memsnap", "tap", "build"]
        subprocess.run(build, env=dict(os.environ, MEMSNAP_TAP_DIR=f"{folder}/taps"), check=True, capture_output=True)
        for _ in range(ROUNDS):
            for name, (mode, stacks, *arm) in MODES.items():
                for part, value in measure(mode, stacks, arm[0] if arm else None, folder).items():
                    parts = best.setdefault(name, {})
                    parts[part] = min(value, parts.get(part, value))
    return best


def main() -> None:
    best = measure_all()
    print("recording, ns of CPU time that an alloc+free pair of a cached block costs more, 20 Python frames deep (minimum of", ROUNDS, "processes)")
    print(f"  {'':28} {'first lap':>10} {'steady':>10}")
    print(f"  {'the pair itself':28} " + " ".join(f"{value:10.0f}" for value in best[OFF].values()))
    added = {name: {part: value - best[OFF][part] for part, value in parts.items()} for name, parts in best.items()}
    for name in MODES:
        if name != OFF:
            print(f"  {name:28} " + " ".join(f"{f'+{value:.0f}':>10}" for value in added[name].values()))
    for ours, theirs, bar in PAIRS_OF_MODES:
        ratios = [added[ours][part] / added[theirs][part] for part in best[OFF]]
        told = "" if bar is None else f"   (bar {bar:.2f})"
        print(f"  {f'{ours} / {theirs}':42} " + " ".join(f"{ratio:6.2f}" for ratio in ratios) + told)


if __name__ == "__main__":
    main()
