# SPDX-License-Identifier: Apache-2.0
"""A small training step, looked at twice: by memsnap's categories, and by those of torch's memory profiler.

Marks divide the step; at each of them torch's sums by category are printed as JSON, once the profile is complete. Then memory runs out.
"""

import json
import time

import torch
from torch import nn
from torch.profiler import _memory_profiler, profile

import memsnap


def flat(events):
    for event in events:
        yield event
        yield from flat(event.children)


def torchs_sums(profiled) -> dict:
    """{point: {category: bytes}} as torch's memory profiler counts them."""
    memory = profiled._memory_profile()
    tree = profiled.profiler.kineto_results.experimental_event_tree()
    points = {event.name.split(":")[1]: event.start_time_ns for event in flat(tree) if event.name.startswith("point:")}
    sums = {}
    for point, time in points.items():
        of_point = sums[point] = {}
        for when, action, (key, version), size_bytes in memory.timeline:
            if key.device.type != "cuda" or when > time:
                continue

            def add(version, delta):
                category = memory._categories.get(key, version) if isinstance(key, _memory_profiler.TensorKey) else None
                name = category.name.lower() if category else "unknown"
                of_point[name] = of_point.get(name, 0) + delta

            if action == _memory_profiler.Action.DESTROY:
                add(version, -size_bytes)
            elif action == _memory_profiler.Action.INCREMENT_VERSION:
                add(version, -size_bytes)
                add(version + 1, size_bytes)
            else:
                add(version, size_bytes)
    return {point: {name: total for name, total in of_point.items() if total} for point, of_point in sums.items()}


def at(point: str) -> None:
    memsnap.mark(point)
    with torch.profiler.record_function(f"point:{point}"):
        pass


def main() -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(64, 4, dim_feedforward=256, batch_first=True).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    memsnap.categorize(model, optimizer)
    batch = torch.randn(8, 32, 64, device="cuda")
    target = torch.randn(8, 32, 64, device="cuda")

    def step(point=lambda name: None):
        hook = model.linear1.weight.register_post_accumulate_grad_hook(lambda _: point("inside backward"))
        point("begin")
        with memsnap.activations():
            output = model(batch)
            point("forward")
            loss = nn.functional.mse_loss(output, target)
        del output
        point("loss")
        loss.backward()
        hook.remove()
        point("backward")
        optimizer.step()
        point("optimizer")
        optimizer.zero_grad()
        point("zeroed")

    step()
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as profiled:
        step(at)
    print(json.dumps(torchs_sums(profiled)), flush=True)
    time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
    torch.empty(16 * 2**30, dtype=torch.uint8, device="cuda")


if __name__ == "__main__":
    main()
