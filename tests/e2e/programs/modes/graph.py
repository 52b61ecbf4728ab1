# SPDX-License-Identifier: Apache-2.0
"""A CUDA graph is captured, replayed and given back; its pool is its own. Then the card is filled."""

import torch

from card import fill, look, take


def main() -> None:
    data, weight = torch.randn(64, 2048, device="cuda"), torch.randn(2048, 2048, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        data @ weight
    torch.cuda.current_stream().wait_stream(side)
    look()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = torch.relu(data @ weight) + take(40).sum()
    look()
    for _ in range(3):
        graph.replay()
    kept = take(500)
    look()
    del result
    graph.reset()
    torch.cuda.empty_cache()
    look()
    del kept
    fill()


if __name__ == "__main__":
    main()
