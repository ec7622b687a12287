"""LPIPS gives the values that others have published, to the digits they printed, and those of its authors' own code.

The examples of torchmetrics are noise, so anybody can draw them again. Their docstrings read, for ``net_type='vgg'``::

    >>> _ = torch.manual_seed(123)
    >>> lpips = LearnedPerceptualImagePatchSimilarity(net_type='vgg')
    >>> img1 = (torch.rand(10, 3, 100, 100) * 2) - 1
    >>> img2 = (torch.rand(10, 3, 100, 100) * 2) - 1
    >>> lpips(img1, img2)
    tensor(0.3493, grad_fn=<SqueezeBackward0>)                                          # torchmetrics 0.11.0
    tensor(0.3566, grad_fn=<SqueezeBackward0>)   # torchmetrics 0.6.0 to 0.10.0, images torch.rand(10, 3, 100, 100)
    >>> learned_perceptual_image_patch_similarity(img1, img2, net_type='vgg')
    tensor(0.3485, grad_fn=<DivBackward0>)       # torchmetrics 1.0.0rc0, images drawn right after the seed

In the first two the seed is set before the network is built, and building it draws one number for each of its weights.

No package prints a value for AlexNet on images that can be had. There the authors' code was run: package lpips 0.1.4,
``LPIPS(net='alex', pnet_rand=True)``, its five convolutions filled with our tensors (its heads are its own), torch
2.13.0, on the images of the third example. The same run for ``net='vgg'`` gives 0.348524, the published 0.3485.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from likewise.runtime.registry import create

VGG16_WEIGHTS = 138_357_544
"""torchvision's vgg16, with the classifier that LPIPS does not use."""
HEAD_WEIGHTS = 64 + 128 + 256 + 512 + 512
ALEX_BY_ITS_AUTHORS = [
    0.122242,
    0.137236,
    0.140484,
    0.158790,
    0.159331,
    0.143518,
    0.132030,
    0.160637,
    0.148186,
    0.183165,
]
VGG_BY_ITS_AUTHORS = [
    0.339369,
    0.360089,
    0.342508,
    0.358083,
    0.348714,
    0.347204,
    0.342933,
    0.330018,
    0.355740,
    0.360575,
]


def noise(*, skipped: int = 0, low: float = -1.0):
    """Draw the two batches of the examples after so many other numbers."""
    source = torch.Generator().manual_seed(123)
    for start in range(0, skipped, 1 << 24):
        torch.rand(min(1 << 24, skipped - start), generator=source)
    return [(torch.rand(10, 3, 100, 100, generator=source) * (1 - low) + low).numpy() for _ in range(2)]


@pytest.mark.parametrize(
    ("skipped", "low", "printed"),
    [(VGG16_WEIGHTS + HEAD_WEIGHTS, -1.0, 0.3493), (VGG16_WEIGHTS + HEAD_WEIGHTS, 0.0, 0.3566), (0, -1.0, 0.3485)],
)
def test_vgg_gives_the_values_that_torchmetrics_prints(skipped, low, printed, weights):
    weights("lpips-vgg16")
    one, two = noise(skipped=skipped, low=low)
    assert create("perceptual", "lpips-vgg").distance(one, two).mean() == pytest.approx(printed, abs=5.1e-5)


@pytest.mark.parametrize(
    ("name", "weight", "expected"),
    [
        ("lpips-vgg", "lpips-vgg16", VGG_BY_ITS_AUTHORS),
        ("lpips-alex", "lpips-alexnet", ALEX_BY_ITS_AUTHORS),
    ],
)
def test_each_image_has_the_value_that_the_authors_code_gives(name, weight, expected, weights):
    weights(weight)
    np.testing.assert_allclose(create("perceptual", name).distance(*noise()), expected, atol=2e-6)
