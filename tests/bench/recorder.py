# SPDX-License-Identifier: Apache-2.0
"""What recording costs, as ratios to torch's own cheapest recorder measured in the same run.

Each mode runs in several fresh processes, interleaved; the minimum counts. "added" is the difference to the same loop with nothing recording.
"""

import json
import os
import pathlib
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(__file__).with_name("recorder_worker.py")
ROUNDS = 4
PAIRS = 50_000
MODES = {"off": ("off", False), "torch history": ("history", False), "memsnap": ("off", True)}


def measure(mode: str, preload: bool, folder: str) -> dict[str, float]:
    environment = dict(os.environ, MEMSNAP_OUT=f"{folder}/ring-%p.bin")
    if preload:
        environment["LD_PRELOAD"] = str(TOP / "build/interpose/libmemsnap.so")
    command = [TOP / "scripts/with_simcuda", "--", TOP / "build/venv/bin/python", WORKER, mode, str(PAIRS)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    for ring in pathlib.Path(folder).glob("ring-*.bin"):
        ring.unlink()
    return json.loads(output)


def main() -> None:
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, (mode, preload) in MODES.items():
                for part, value in measure(mode, preload, folder).items():
                    parts = best.setdefault(name, {})
                    parts[part] = min(value, parts.get(part, value))
    print("recording, ns of CPU time per alloc+free pair of a cached block (minimum of", ROUNDS, "processes)")
    print(f"  {'':12} {'off':>8} {'torch history':>22} {'memsnap':>22} {'memsnap / torch':>16}")
    for part, off in best["off"].items():
        torch_added, memsnap_added = best["torch history"][part] - off, best["memsnap"][part] - off
        print(
            f"  {part:12} {off:8.0f} {best['torch history'][part]:10.0f} (+{torch_added:.0f})".ljust(48)
            + f"{best['memsnap'][part]:10.0f} (+{memsnap_added:.0f})".ljust(24)
            + f"{memsnap_added / torch_added:10.2f}"
        )


if __name__ == "__main__":
    main()
