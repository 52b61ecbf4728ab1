# SPDX-License-Identifier: Apache-2.0
"""A loader with worker processes and pinned batches feeds the card. All batches live to the end, on the host and on the card."""

import torch

from card import fill, look, take


class Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((256 * 1024,), float(index))


def main() -> None:
    kept, pinned = [take(50)], []
    look()
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context="fork"):
        assert batch.is_pinned()
        pinned.append(batch)
        kept.append(batch.cuda(non_blocking=True))
        print(batch.shape, int(batch[-1, 0]))
        look()
    print("pinned", torch.cuda.host_memory_stats()["allocated_bytes.current"], flush=True)
    fill()


if __name__ == "__main__":
    main()
