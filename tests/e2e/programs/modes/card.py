# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: they take memory, look at the card now and then, and say what PyTorch counts."""

import torch

MIB = 1024 * 1024


def take(mebibytes: float, device: int = 0) -> torch.Tensor:
    return torch.empty(int(mebibytes * MIB), dtype=torch.uint8, device=f"cuda:{device}")


def look(device: int = 0) -> None:
    """Asks the driver how much is free, and prints it beside PyTorch's own totals."""
    free = torch.cuda.mem_get_info(device)[0]
    print("look", device, free, torch.cuda.memory_allocated(device), torch.cuda.memory_reserved(device), flush=True)


def fill(device: int = 0) -> None:
    """Takes until PyTorch raises, with a look now and then; what was taken lives on to the end."""
    kept = []
    while True:
        kept.append(take(300, device))
        if len(kept) % 8 == 0:
            look(device)
