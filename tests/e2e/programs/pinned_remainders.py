# SPDX-License-Identifier: Apache-2.0
"""Every long prompt leaves a small result behind in its own cached segment; then a batch needs one large buffer.

Dies of fragmentation with native segments: each result pins a whole one. Succeeds with expandable segments, whose free pages
go back to the device.
"""

import time

import torch

MIB = 1024 * 1024


def buffer(length_bytes: int) -> torch.Tensor:
    return torch.empty(length_bytes, dtype=torch.uint8, device="cuda")


def answer_prompts(card_bytes: int) -> list[torch.Tensor]:
    """The cache is warmed up with buffers of 200 MiB; each is then split into a prompt's buffer and the result that stays."""
    warm = [buffer(200 * MIB) for _ in range(card_bytes * 9 // 10 // (200 * MIB))]
    count = len(warm)
    del warm
    prompts, results = [], []
    for _ in range(count):
        prompts.append(buffer(150 * MIB))
        results.append(buffer(40 * MIB))
    return results


def main() -> None:
    _, card_bytes = torch.cuda.mem_get_info()
    time.sleep(2)  # a model would be loaded now; the recorder looks at the card once a second
    results = answer_prompts(card_bytes)
    batch = buffer(card_bytes // 8)
    print(f"{len(results)} results kept, batch of {batch.numel() // MIB} MiB")


if __name__ == "__main__":
    main()
