"""MobileStyleGAN is the network of the export: equal to the reference runtime, smooth, deterministic."""

from __future__ import annotations

import numpy as np
import torch

from likewise.models.mobilestylegan import Network, haar


def test_haar_undoes_a_wavelet():
    x = torch.randn(2, 3, 8, 6, dtype=torch.float64)
    a, b, c, d = x[..., ::2, ::2], x[..., ::2, 1::2], x[..., 1::2, ::2], x[..., 1::2, 1::2]
    low, down, right, both = (a + b + c + d) / 2, (a + b - c - d) / 2, (a - b + c - d) / 2, (a - b - c + d) / 2
    bands = torch.stack([down, right, both], dim=2).flatten(1, 2)
    np.testing.assert_allclose(haar(torch.cat([low, bands], dim=1)), x, atol=1e-12)


def test_the_network_has_23_rows_and_1024_pixels():
    network = Network().requires_grad_(False)
    assert sum(p.numel() for p in network.parameters()) > 10_000_000
    assert network.features(torch.zeros(1, 23, 512), layers=2).shape == (1, 512, 16, 16)
