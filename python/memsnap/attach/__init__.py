# SPDX-License-Identifier: Apache-2.0
"""`memsnap attach` and `detach`: the recorder brought into a PyTorch process that was started without it (docs/attach.md)."""
