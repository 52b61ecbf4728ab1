# SPDX-License-Identifier: Apache-2.0
"""A recording whose file of names tells paths and functions: a snapshot of PyTorch's of a job that ran out of memory, imported."""

import pathlib
import pickle
import subprocess

from conftest import REPLAY, Case

MIB = 1 << 20
BLOCKS = 10
# What the job's own words are in: none of it may be in a page without names.
WORDS = (b"alice", b"secretproject", b"Net", b"next_batch", b"model.py", b"loader.py", b"train.py")


def stack(*frames: tuple[str, str]) -> list[dict]:
    return [{"filename": f"/home/alice/secretproject/{file}", "name": function, "line": 10 + at} for at, (file, function) in enumerate(frames)]


STACKS = (stack(("model.py", "Net.forward"), ("train.py", "main")), stack(("loader.py", "next_batch"), ("train.py", "main")))


def snapshot() -> dict:
    base = 0x7F0000000000
    places = [(base + 50 * MIB * at, STACKS[at % 2]) for at in range(BLOCKS)]
    trace = [{"action": "segment_alloc", "addr": base, "size": 600 * MIB, "stream": 0, "frames": STACKS[0]}]
    trace += [{"action": "alloc", "addr": place, "size": 50 * MIB, "stream": 0, "frames": frames} for place, frames in places]
    trace += [{"action": "oom", "addr": 0, "size": 300 * MIB, "stream": 0, "frames": STACKS[0], "device_free": 100 * MIB}]
    blocks = [{"address": place, "size": 50 * MIB, "requested_size": 50 * MIB, "state": "active_allocated", "frames": frames} for place, frames in places]
    blocks += [{"address": base + 500 * MIB, "size": 100 * MIB, "requested_size": 0, "state": "inactive", "frames": []}]
    segment = {"device": 0, "address": base, "total_size": 600 * MIB, "allocated_size": 500 * MIB, "active_size": 500 * MIB, "requested_size": 500 * MIB,
               "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": STACKS[0], "blocks": blocks}
    return {"segments": [segment], "device_traces": [trace]}


class NamedCase(Case):
    """A folder with that recording and its file of names."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.ring, self.names = folder, folder / "ring.bin", folder / "ring.bin.names"
        whole = folder / "snapshot.pickle"
        whole.write_bytes(pickle.dumps(snapshot(), protocol=4))
        subprocess.run([REPLAY, "import", whole, self.ring], check=True, capture_output=True, timeout=60)
        whole.unlink()
        assert self.names.exists()

    def key(self) -> pathlib.Path:
        path = self.folder / "key"
        path.write_bytes(b"a key of the company")
        return path
