# SPDX-License-Identifier: Apache-2.0
"""Programs whose live blocks PyTorch's own recorder knows the sites of. Arguments: the name of the program, and where to write them.

Each ends without giving anything back, so that what is live when PyTorch is asked is what is live at the end.
"""

import functools
import json
import os
import sys
import threading

import torch
from torch import nn

KEPT = []


def keep(size):
    KEPT.append(torch.empty(size, dtype=torch.uint8, device="cuda"))


def write_sites(path):
    """[address, [[file, function, line], …]] of each live block, innermost frame first."""
    live = [
        (block["address"], [(frame["filename"], frame["name"], frame["line"]) for frame in block.get("frames", [])])
        for segment in torch.cuda.memory._snapshot()["segments"]
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    ]
    with open(path, "w") as file:
        json.dump(live, file)


def start_recording():
    torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="python", max_entries=1_000_000)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        result = function(*arguments)
        return result

    return wrapper


@decorated
def through_a_wrapper(size):
    keep(
        size
    )


class Keeper:
    def __call__(self, size):
        (lambda: keep(size))()

    @property
    def some(self):
        keep(700)
        return self


def generated(count):
    for size in range(1, count):
        keep(size)
        yield size


def recursive(depth):
    if depth:
        return recursive(depth - 1)
    keep(600)


def everyday():
    """Calls of every kind, on the main thread and on another one."""
    for size in (10, 20):
        through_a_wrapper(size)
    Keeper()(30)
    Keeper().some
    list(generated(4))
    [keep(size) for size in (40, 50)]
    {size: keep(size) for size in (60, 70)}
    recursive(60)
    sorted([3, 1, 2], key=lambda size: keep(size) or size)
    thread = threading.Thread(target=through_a_wrapper, args=(80,))
    thread.start()
    thread.join()
    try:
        raise ValueError
    except ValueError:
        keep(90)
    with torch.no_grad():
        keep(100)


class Doubled(torch.autograd.Function):
    """Its backward pass is Python on an autograd thread."""

    @staticmethod
    def forward(context, value):
        KEPT.append(value * 2)
        return value * 2

    @staticmethod
    def backward(context, gradient):
        KEPT.append(gradient * 2)
        return gradient * 2


def training():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(3):
        hidden = model(torch.randn(4, 16, 64, device="cuda"))
        if step == 1:
            hidden.register_hook(lambda gradient: KEPT.append(gradient + 1))
        loss = Doubled.apply(hidden).float().pow(2).mean()
        loss.backward()
        KEPT.append(loss)
        optimizer.step()
        if step < 2:
            optimizer.zero_grad()


def compiled():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).cuda()

    @functools.partial(torch.compile, backend="eager")
    def step(value):
        hidden = model(value)
        print("a break in the graph")
        return model(hidden) + 1

    for _ in range(3):
        KEPT.append(step(torch.randn(4, 32, device="cuda", requires_grad=True)))


def cells():
    """As in a notebook: code objects come and go, and lie where others were."""
    scope = {"keep": keep}
    for number in range(300):
        source = "\n" * (number % 7) + f"def work_{number % 5}():\n    keep({number + 1})\nwork_{number % 5}()\n"
        exec(compile(source, f"<cell {number % 50}>", "exec"), scope)


def forked():
    """The parent has no GPU before the fork; the child writes down its own sites."""
    if os.fork() == 0:
        run("everyday", f"{sys.argv[2]}.child")
    os.wait()
    run("everyday", sys.argv[2])


def run(name, path):
    if name == "forked":
        forked()
    start_recording()
    globals()[name]()
    write_sites(path)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
