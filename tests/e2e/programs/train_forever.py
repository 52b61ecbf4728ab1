# SPDX-License-Identifier: Apache-2.0
"""A training job that runs until it is killed, with blocks allocated and freed on the main and on the autograd thread."""

import torch
from torch import nn


def main() -> None:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(8, 128, 256, device="cuda")
    while True:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
