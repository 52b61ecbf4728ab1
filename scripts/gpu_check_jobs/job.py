# SPDX-License-Identifier: Apache-2.0
"""Runs one job of gpu_check to its end in the working folder: job.py NAME. Its output is the job's own.

A job is one of the programs of tests/e2e, or a workload below. With a ring in the working folder a copy of it is left beside what PyTorch
says at that moment (instant-00-end.*), and facts.json says what else the job saw then; also when it ends in an out-of-memory failure.
"""

import json
import os
import pathlib
import runpy
import sys
import time

import torch
from torch import nn

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "tests/e2e/programs"
sys.path[:0] = [str(PROGRAMS), str(pathlib.Path(__file__).parent)]

import nvml
from instants import Instants

QUIET_S = 1.0  # several sample periods, in which nothing happens


def graphs() -> None:
    """A training step captured once and replayed, from a pool of its own."""
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).cuda()
    batch = torch.randn(256, 512, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            model(batch).pow(2).mean().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    model.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = model(batch).pow(2).mean()
        loss.backward()
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    print("replayed", loss.numel())


def nccl() -> None:
    """One rank: the communicator's own memory, taken by a library with a runtime of its own."""
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    store = pathlib.Path("rendezvous").absolute()
    torch.distributed.init_process_group("nccl", init_method=store.as_uri(), rank=0, world_size=1)
    total = torch.full((1 << 20,), 3, device="cuda")
    torch.distributed.all_reduce(total)
    print("reduced", int(total[0]), flush=True)
    torch.distributed.destroy_process_group()


def blas() -> None:
    """Matrix products on several streams: cuBLAS and cuBLASLt have workspaces for each."""
    for kind in (torch.float32, torch.bfloat16):
        layer = nn.Linear(2048, 2048, device="cuda", dtype=kind)
        rows = torch.ones(512, 2048, device="cuda", dtype=kind)
        for _ in range(3):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                product = layer(rows) @ layer.weight
            stream.synchronize()
        print(kind, tuple(product.shape))


WORKLOADS = {work.__name__: work for work in (graphs, nccl, blas)}


def card_uuid() -> str:
    return str(getattr(torch.cuda.get_device_properties(0), "uuid", ""))


def steady_memory() -> dict:
    """What the runtime and NVML say of the card, and whether it stood still meanwhile."""
    before, uuid = nvml.memory(card_uuid()), card_uuid()
    free_bytes, total_bytes = torch.cuda.mem_get_info()
    time.sleep(QUIET_S)
    return {"free_bytes": free_bytes, "total_bytes": total_bytes, "nvml": nvml.memory(uuid), "still": before == nvml.memory(uuid)}


def take_facts() -> None:
    torch.cuda.synchronize()
    ring = pathlib.Path(f"ring-{os.getpid()}.bin")
    if ring.exists() and torch.cuda.get_allocator_backend() == "native":  # the other one has no snapshot
        Instants().take("end")
    facts = {
        "pid": os.getpid(), "recorded": ring.exists(), "peak_bytes": torch.cuda.max_memory_allocated(),
        "memory": steady_memory(),  # its pause is needed without the recorder too: PyTorch may abort an interpreter that ends right behind a backward pass
    }
    pathlib.Path("facts.json").write_text(json.dumps(facts))


def main(name: str) -> None:
    torch.cuda.mem_get_info()  # from here on the free bytes of the device can be predicted
    if "MEMSNAP_CUPTI" in os.environ:
        time.sleep(QUIET_S)  # CUPTI starts beside the program and sees nothing of what came before
    try:
        if name in WORKLOADS:
            WORKLOADS[name]()
        else:
            runpy.run_path(str(PROGRAMS / f"{name}.py"), run_name="__main__")
    except torch.cuda.OutOfMemoryError:
        take_facts()
        raise
    take_facts()


if __name__ == "__main__":
    main(sys.argv[1])
