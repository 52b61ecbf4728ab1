# SPDX-License-Identifier: Apache-2.0
"""A server keeps one cache a request and requests end out of order; then a long prompt needs one large buffer.

Dies of fragmentation: half of the card is free inside PyTorch's segments, in holes of a few MiB.
"""

import torch

MIB = 1024 * 1024
CACHE_BYTES = 5 * MIB


def open_request(length_bytes: int) -> torch.Tensor:
    return torch.empty(length_bytes, dtype=torch.uint8, device="cuda")


def serve_until_full(card_bytes: int) -> list[torch.Tensor]:
    """Requests arrive until nine tenths of the card hold their caches; every second one has ended by then."""
    open_requests = [open_request(CACHE_BYTES) for _ in range(card_bytes * 9 // 10 // CACHE_BYTES)]
    return open_requests[::2]


def main() -> None:
    card_bytes = torch.cuda.get_device_properties(0).total_memory
    caches = serve_until_full(card_bytes)
    print(f"{len(caches)} requests open, {torch.cuda.memory_allocated() // MIB} MiB in use")
    open_request(card_bytes // 8)


if __name__ == "__main__":
    main()
