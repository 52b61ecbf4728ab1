# SPDX-License-Identifier: Apache-2.0
"""How tests import a snapshot, and what its own tables say, worked out in another way than memsnap-replay does."""

import json
import os
import pathlib
import pickle
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))
REPLAY = BUILD / "replay/memsnap-replay"
ORACLE = BUILD / "oracle/memsnap-oracle"
PUBLIC = sorted((TOP.parent / "shared" / "snapshots").glob("*.pickle"))


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"names {module}.{name}")


def load(path: pathlib.Path):
    with path.open("rb") as file:
        return DataOnly(file).load()


def written(folder: pathlib.Path, value, name: str = "snapshot.pickle") -> pathlib.Path:
    path = folder / name
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol=4))
    return path


def replay(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([str(REPLAY), *map(str, arguments)], capture_output=True, text=True, timeout=300)


def receipt_of(path: pathlib.Path, *options) -> tuple[int, dict]:
    done = replay(path, "--json", "-", *options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def segments_of(snapshot) -> list[dict]:
    return snapshot if isinstance(snapshot, list) else snapshot["segments"]


def live_blocks(snapshot) -> list[tuple[int, int, int]]:
    """Device, address and size of the blocks in use at the end."""
    found = []
    for segment in segments_of(snapshot):
        at = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                found.append((segment["device"], block.get("address", at), block["size"]))
            at += block["size"]
    return sorted(found)


def told_totals(snapshot) -> dict[int, tuple[int, int]]:
    """Allocated and reserved by device, as the file's own segments state them."""
    totals: dict[int, tuple[int, int]] = {}
    for segment in segments_of(snapshot):
        allocated, reserved = totals.get(segment["device"], (0, 0))
        totals[segment["device"]] = (allocated + segment["allocated_size"], reserved + segment["total_size"])
    return {device: both for device, both in totals.items() if both != (0, 0)}


def state(path: pathlib.Path) -> dict:
    """`dump --state`: totals, segments and blocks at the end."""
    done = replay("dump", "--state", path)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {
        "totals": {int(row[1]): (int(row[2]), int(row[3])) for row in rows if row[0] == "totals" and row[2:] != ["0", "0"]},
        "segments": sorted((int(row[1]), int(row[2], 16), int(row[3])) for row in rows if row[0] == "segment"),
        "blocks": sorted((int(row[1]), int(row[2], 16), int(row[3])) for row in rows if row[0] == "block"),
    }


def assert_ends_as_the_file_says(path: pathlib.Path, snapshot) -> None:
    found = state(path)
    assert found["totals"] == told_totals(snapshot)
    assert found["blocks"] == live_blocks(snapshot)
    contiguous = {(segment["device"], segment["address"], segment["total_size"]) for segment in segments_of(snapshot)}
    assert set(found["segments"]) == contiguous


def records(path: pathlib.Path, *kinds: str) -> list[list[str]]:
    """The words of each record of these kinds."""
    done = replay("dump", path)
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return [words for words in lines if words[2] in kinds]


def oracle_disagrees(path: pathlib.Path, folder: pathlib.Path, *options) -> str:
    """What memsnap-oracle finds wrong with the receipt of a file, judged from the ring that `import` writes of it; empty: nothing."""
    ring, receipt = folder / "oracle.ring", folder / "oracle.json"
    made = replay("import", path, ring, "--force", *options)
    assert made.returncode == 0, made.stderr
    receipt.unlink(missing_ok=True)
    judged = replay(path, "--json", receipt, *options)
    assert receipt.exists(), judged.stderr
    done = subprocess.run([ORACLE, "--receipt", receipt, ring], capture_output=True, text=True, timeout=300)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def by_failure(snapshot: dict) -> list[dict]:
    """Of each `oom` entry: device, reserved, requested, device-free, and the requested bytes and live blocks at that entry, summed up from
    the end of the trace to its entry."""
    found = []
    for device, trace in enumerate(snapshot["device_traces"]):
        mine = [segment for segment in snapshot["segments"] if segment["device"] == device]
        reserved = sum(segment["total_size"] for segment in mine)
        live = {block["address"]: block["requested_size"] for segment in mine for block in segment["blocks"] if block["state"] == "active_allocated"}
        for entry in reversed(trace):
            change = {"segment_alloc": -1, "segment_map": -1, "segment_free": 1, "segment_unmap": 1}.get(entry["action"], 0)
            reserved += change * entry["size"]
            if entry["action"] == "alloc":
                live.pop(entry["addr"])
            elif entry["action"] == "free_requested":
                live[entry["addr"]] = entry["size"]
            elif entry["action"] == "oom":
                found.append({"device": device, "reserved": reserved, "request": entry["size"], "free": entry["device_free"],
                              "requested": sum(live.values()), "block_count": len(live)})
    return found
