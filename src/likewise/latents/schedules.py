"""The schedules of projection: how many steps, of which kind, at which resolution.

- ``SINGH2021`` is the published one: 1000 steps of Adam at full resolution from the mean latent, its learning rate
  ramped up over the first 5 % and down by a cosine over the last 25 %, with noise on the latent that fades; the
  generator's noise maps, where it has any, are optimized as well (see noise).
- ``REFINE`` is ours: most steps at low resolution, where a step is cheap, and the last at a higher one, because what
  is drawn at low resolution is only nearly the image, and an optimizer finds the difference. A generator without low
  resolutions takes all steps at its own. A step is measured in standard deviations of sampled latents, so that it is
  small where W is narrow. Where there is an encoder (``ENCODED``) its guess is the start, and there are fewer steps; a
  recognizer is to keep the person. Where the average curvature of the loss is known as well (``NEWTON``), steps start
  from its inverse (see newton), and a few suffice. How far that holds is in docs/projection.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase of the optimization: steps of Adam, their resolution and learning rate."""

    steps: int
    lr: float
    """The largest learning rate."""
    size: int | None = None
    """Resolution in pixels; None is the generator's full resolution."""
    tie_rows: bool = False
    """Whether all rows share one latent (W), or each has its own (W+)."""
    lr_rampup: float = 0.05
    """Share of the steps over which the learning rate rises."""
    lr_rampdown: float = 0.25
    """Share of the steps over which it falls again."""
    noise_factor: float = 0.0
    """Initial noise on the latent, in standard deviations of w; it fades."""
    beta2: float = 0.999
    """Adam's second-moment decay; few steps need a smaller one."""
    noise: float = 0.0
    """Weight of the penalty that keeps a generator's noise maps noise while they move, too; 0 leaves them alone."""
    whitened: bool = False
    """Whether a step is measured in standard deviations of sampled latents, direction by direction."""
    newton: bool = False
    """Whether steps are those of Newton's kind, the first at the rate ``lr``, instead of Adam's."""


SINGH2021 = (Phase(steps=1000, lr=0.1, noise_factor=0.05, noise=1e5),)
REFINE = (
    Phase(steps=80, lr=0.1, size=128, whitened=True, beta2=0.99),
    Phase(steps=20, lr=0.03, whitened=True, beta2=0.99),
)
"""From the mean latent, for generators without an encoder."""
ENCODED: tuple[Phase, ...] = (
    Phase(steps=40, lr=0.08, size=128, lr_rampup=0.16, lr_rampdown=1.0, whitened=True, beta2=0.99),
    Phase(steps=16, lr=0.06, size=256, lr_rampup=0.0, lr_rampdown=1.0, whitened=True, beta2=0.99),
    Phase(steps=10, lr=0.04, lr_rampup=0.0, lr_rampdown=1.0, whitened=True, beta2=0.99),
)
"""From the encoder's guess, which is near. Other numbers, sizes and rates were tried on photographs kept for tuning
(``benchmarks.projection project --tuning --phases``); docs/projection.md has what came of them."""
NEWTON: tuple[Phase, ...] = (
    Phase(steps=6, lr=0.5, size=128, newton=True),
    Phase(steps=4, lr=0.5, size=256, newton=True),
)
"""From the encoder's guess, where the average curvature is known and rows are not tied. None at full resolution: at
256 px, where images are compared, the exit draws what the full network draws."""
