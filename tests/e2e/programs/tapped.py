# SPDX-License-Identifier: Apache-2.0
"""Programs that use streams, pools and several threads, and let PyTorch say what was requested and where. Argument: the program's name.

They are preloaded by hand, so they attach the torch tap themselves.
"""

import json
import multiprocessing
import pathlib
import random
import sys
import threading

import torch

import memsnap
from instants import Instants

MIB = 1024 * 1024
GIB = 1024 * MIB


def take(size_bytes: int, device: str = "cuda:0") -> torch.Tensor:
    return torch.empty(size_bytes, dtype=torch.uint8, device=device)


def memory_as_requested() -> dict:
    """Segments and blocks as [device, address, bytes, stream, pool …], the free extents of the first device, and PyTorch's own sums."""
    segments = torch.cuda.memory_snapshot()
    stats = [torch.cuda.memory_stats(device) for device in range(torch.cuda.device_count())]
    return {
        "segments": sorted([s["device"], s["address"], s["total_size"], s["stream"], s["segment_pool_id"], s["is_expandable"]] for s in segments),
        "blocks": sorted(
            [s["device"], b["address"], b["requested_size"], s["stream"], s["segment_pool_id"], b["state"]]
            for s in segments for b in s["blocks"] if b["state"] != "inactive"
        ),
        "free": sorted(
            [b["address"], b["size"], s["stream"], s["segment_pool_id"], s["segment_type"]]
            for s in segments if s["device"] == 0 for b in s["blocks"] if b["state"] == "inactive"
        ),
        "requested": [of.get("requested_bytes.all.current", 0) for of in stats],
        "deferred": [of.get("active_bytes.all.current", 0) - of.get("allocated_bytes.all.current", 0) for of in stats],
    }


def fail(size_bytes: int = 64 * GIB) -> None:
    try:
        take(size_bytes)
    except torch.OutOfMemoryError:
        pass


def fail_and_tell() -> None:
    """A failure, and beside it what PyTorch says right after it. Only what may be given back changes at a failure, and that is told as well."""
    fail()
    pathlib.Path("at-failure.json").write_text(json.dumps(memory_as_requested()))


def churn(kept: list, rng: random.Random, steps: int, devices: tuple = ("cuda:0",)) -> None:
    for _ in range(steps):
        if kept and (len(kept) > 60 or rng.random() < 0.45):
            kept.pop(rng.randrange(len(kept)))
        else:
            size_bytes = rng.choice([rng.randrange(1, 2000), rng.randrange(1, MIB), rng.randrange(MIB, 12 * MIB), rng.randrange(12 * MIB, 40 * MIB)])
            kept.append(take(size_bytes, rng.choice(devices)))


def everything() -> None:
    """Two devices, side streams, a pool of the program's own, a graph's pool, and a block that another stream still uses."""
    memsnap.tap.attach()
    devices = ("cuda:0", "cuda:1")
    rng, kept = random.Random(3), []
    kept.append(take(1000))
    instants = Instants(memory_as_requested)
    churn(kept, rng, 300, devices)
    instants.take("churned")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        kept += [take(5 * MIB + 1), take(700), take(30 * MIB)]
    instants.take("side-stream")
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept += [take(3 * MIB), take(33)]
    instants.take("pool")
    used_elsewhere = take(30 * MIB + 5)
    used_elsewhere.record_stream(side)
    with torch.cuda.stream(side):
        used_elsewhere.add_(1)
    del used_elsewhere
    instants.take("deferred")
    torch.cuda.synchronize()
    churn(kept, rng, 100, devices)
    instants.take("completed")
    weight, graph = torch.randn(64, 64, device="cuda"), torch.cuda.CUDAGraph()
    weight @ weight
    with torch.cuda.graph(graph):
        output = (weight @ weight).sum()
    instants.take("captured")
    del output, weight
    graph.reset()
    kept = kept[::3]
    torch.cuda.empty_cache()
    instants.take("emptied")


def lapped() -> None:
    """Segments that are far older than the ring, of two streams and a pool, and then a failure."""
    memsnap.tap.attach()
    rng, kept = random.Random(4), []
    old = [take(100), take(50 * MIB)]
    side, pool = torch.cuda.Stream(), torch.cuda.MemPool()
    with torch.cuda.stream(side):
        old += [take(5 * MIB + 7), take(90 * MIB)]
    with torch.cuda.use_mem_pool(pool):
        old += [take(70 * MIB)]
    for _ in range(20):
        churn(kept, rng, 1500)
    torch.cuda.empty_cache()
    fail_and_tell()


def attached_late() -> None:
    """The allocator is in use when the tap comes: live blocks, one that is to be freed later, one whose free is still deferred."""
    side = torch.cuda.Stream()
    old = [take(100), take(50 * MIB + 3), take(5 * MIB)]
    with torch.cuda.stream(side):
        old.append(take(41 * MIB))
    old[2].record_stream(side)
    old.pop(2)
    assert memsnap.tap.attach() and not torch._C._cuda_isHistoryEnabled()
    old.pop(0)
    old.append(take(77))
    fail_and_tell()


def attached_late_beside_a_history() -> None:
    """Two devices in use, and PyTorch's own history on. Prints how many looks at the allocator are in the history of each."""
    old = [take(5000, device) for device in ("cuda:0", "cuda:1")]
    torch.cuda.memory._record_memory_history(context=None)
    assert memsnap.tap.attach()
    traces = torch.cuda.memory._snapshot()["device_traces"][:2]
    print([len([entry for entry in trace if entry["action"] == "snapshot"]) for trace in traces])
    fail_and_tell()
    del old


def many_segments() -> None:
    """More small segments than a ring of 1 MiB has told again."""
    memsnap.tap.attach()
    kept = [take(MIB) for _ in range(2200)]
    fail_and_tell()
    del kept


def attached_among_threads() -> None:
    """Two threads allocate while the tap is attached."""
    take(1000)
    done = threading.Event()

    def work(seed: int) -> None:
        rng, kept = random.Random(seed), []
        while not done.is_set():
            churn(kept, rng, 20)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    kept = take(12345)
    assert memsnap.tap.attach()
    done.set()
    for thread in threads:
        thread.join()
    fail_and_tell()
    del kept


def many_failures() -> None:
    memsnap.tap.attach()
    kept = [take(3 * MIB)]
    for _ in range(100):
        fail()
    del kept


def child() -> None:
    memsnap.tap.attach()
    take(5000)


def children() -> None:
    """One child by fork, before this process uses CUDA, and one by spawn."""
    memsnap.tap.attach()
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=child)
        process.start()
        process.join()


def plain() -> None:
    """Prints something, fails and goes on."""
    kept = take(1000)
    fail()
    print("allocated", torch.cuda.memory_allocated(), kept.numel())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    if sys.argv[1] != "children":
        torch.cuda.synchronize()
