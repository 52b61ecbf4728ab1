# SPDX-License-Identifier: Apache-2.0
"""Programs that stop at many instants and let PyTorch say what it holds. Argument: the name of the program."""

import random
import sys
import threading
import time

import torch
from torch import nn

from instants import Instants

MIB = 1024 * 1024


def random_bytes(rng: random.Random) -> int:
    """Small, medium and large requests, so that every size class of the allocator is used."""
    return rng.choice([rng.randrange(1, 2000), rng.randrange(1, MIB), rng.randrange(MIB, 12 * MIB), rng.randrange(12 * MIB, 64 * MIB)])


def churn_steps(kept: list[torch.Tensor], rng: random.Random, steps: int, device: str = "cuda", limit: int = 80) -> None:
    for _ in range(steps):
        if kept and (len(kept) > limit or rng.random() < 0.45):
            kept.pop(rng.randrange(len(kept)))
        else:
            kept.append(torch.empty(random_bytes(rng), dtype=torch.uint8, device=device))


def training(instants: Instants) -> None:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    instants.take("model")
    for step in range(3):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            hidden = model(torch.randn(8, 128, 256, device="cuda"))
        if step == 1:  # the hook runs on the autograd thread, in the middle of the backward pass
            hidden.register_hook(lambda _: instants.take("backward"))
            model.layers[1].linear1.weight.register_hook(lambda _: instants.take("backward-later"))
        loss = hidden.float().pow(2).mean()
        instants.take("forward")
        loss.backward()
        instants.take("gradients")
        optimizer.step()
        instants.take("optimizer")
        optimizer.zero_grad()
        del hidden, loss
        instants.take("step-end")
    torch.cuda.empty_cache()
    instants.take("cache-emptied")


def churn(instants: Instants) -> None:
    rng, kept = random.Random(7), []
    for _ in range(8):
        churn_steps(kept, rng, 400)
        instants.take("churn")
    kept = kept[::3]
    torch.cuda.empty_cache()
    instants.take("cache-emptied")
    try:
        kept.append(torch.empty(torch.cuda.get_device_properties(0).total_memory, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        instants.take("out-of-memory-caught")
    churn_steps(kept, rng, 400)
    instants.take("after-out-of-memory")
    kept.clear()
    instants.take("nothing-live")
    torch.cuda.empty_cache()
    instants.take("nothing-reserved")


def with_threads(instants: Instants, work, thread_count: int, rounds: int) -> None:
    """Runs work(thread, round) in threads that stop at a barrier between rounds, where an instant is taken."""
    barrier = threading.Barrier(thread_count + 1)

    def run(thread: int) -> None:
        for number in range(rounds):
            work(thread, number)
            barrier.wait()
            barrier.wait()

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(thread_count)]
    for thread in threads:
        thread.start()
    for _ in range(rounds):
        barrier.wait()
        instants.take("threads-stopped")
        barrier.wait()
    for thread in threads:
        thread.join()


def two_threads(instants: Instants) -> None:
    """Each thread frees what the other one allocated in the round before."""
    kept = [[], []]
    rngs = [random.Random(1), random.Random(2)]

    def work(thread: int, number: int) -> None:
        churn_steps(kept[(thread + number) % 2], rngs[thread], 300, limit=40)

    with_threads(instants, work, thread_count=2, rounds=6)


def two_devices(instants: Instants) -> None:
    kept = [[], []]
    rngs = [random.Random(3), random.Random(4)]

    def work(thread: int, number: int) -> None:
        churn_steps(kept[thread], rngs[thread], 300, device=f"cuda:{(thread + number) % 2}", limit=40)

    with_threads(instants, work, thread_count=2, rounds=5)
    kept[0].clear()
    torch.cuda.empty_cache()
    instants.take("one-thread-cleared")


def graph_capture(instants: Instants) -> None:
    """A private pool: blocks of a capture stay the graph's; beside it a side stream with a deferred free."""
    weight = torch.randn(512, 512, device="cuda")
    static_input = torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            static_input @ weight
    torch.cuda.current_stream().wait_stream(side)
    instants.take("before-capture")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        hidden = torch.relu(static_input @ weight)
        output = (hidden @ weight).sum()
        del hidden
    instants.take("captured")
    kept, rng = [], random.Random(5)
    churn_steps(kept, rng, 200)
    graph.replay()
    instants.take("replayed")
    used_on_side = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")
    used_on_side.record_stream(side)
    with torch.cuda.stream(side):
        used_on_side.add_(1)
    del used_on_side
    instants.take("free-deferred")
    torch.cuda.synchronize()
    churn_steps(kept, rng, 50)
    instants.take("free-completed")
    del output
    graph.reset()
    torch.cuda.empty_cache()
    instants.take("graph-gone")


def wrapped(instants: Instants) -> None:
    """About 20 times the ring's records: old blocks stay, the others are freed by the thread that did not allocate them."""
    old = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in (100, 3 * MIB, 40 * MIB)]
    exchange = [[], []]
    rng = random.Random(6)
    sizes = [[random_bytes(rng) for _ in range(97)] for _ in range(2)]

    # The threads run beside each other a hundred steps at a time: however the machine schedules them, neither goes a whole lap of the
    # ring alone, and the last window has frees by the other thread of every hundred.
    together = threading.Barrier(2)

    def work(thread: int, number: int) -> None:
        mine, theirs = exchange[thread], exchange[1 - thread]
        for step in range(21000):
            if step % 100 == 0:
                together.wait()
            mine.append(torch.empty(sizes[thread][step % 97], dtype=torch.uint8, device="cuda"))
            if len(theirs) > 30:
                theirs.pop(step % 30)
            elif len(mine) > 60:
                mine.pop(step % 60)

    with_threads(instants, work, thread_count=2, rounds=4)
    old.pop()
    instants.take("block-older-than-the-ring-freed")
    exchange[0].clear()
    torch.cuda.empty_cache()
    instants.take("other-threads-blocks-freed")


PROGRAMS = {
    "training": training,
    "churn": churn,
    "two_threads": two_threads,
    "two_devices": two_devices,
    "graph_capture": graph_capture,
    "wrapped": wrapped,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Instants())
    torch.cuda.synchronize()
    time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
