# SPDX-License-Identifier: Apache-2.0
"""Fills the card but for a given rest and then asks for too much. Arguments: the rest in MiB, the request in bytes, the size of a filler in MiB."""

import sys

import torch

MIB = 1024 * 1024


def main(rest_bytes: int, request_bytes: int, unit_bytes: int) -> None:
    free_bytes, _ = torch.cuda.mem_get_info()
    filler = torch.empty((free_bytes - rest_bytes) // unit_bytes * unit_bytes, dtype=torch.uint8, device="cuda")
    torch.empty(request_bytes, dtype=torch.uint8, device=filler.device)


if __name__ == "__main__":
    main(int(sys.argv[1]) * MIB, int(sys.argv[2]), int(sys.argv[3]) * MIB)
