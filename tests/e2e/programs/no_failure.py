# SPDX-License-Identifier: Apache-2.0
"""A training job that ends well: a Transformer encoder under bf16 autocast."""

import time

import torch
from torch import nn


def main() -> None:
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(8, 128, 256, device="cuda")
    for _ in range(20):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    print("done", flush=True)
    time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass


if __name__ == "__main__":
    main()
