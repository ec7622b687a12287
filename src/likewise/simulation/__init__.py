"""Simulations with known ground truth, for testing estimators and for the demo.

``world`` draws images of synthetic identities from a known model; ``components`` are its generator, editor, recognizer,
classifiers and raters; ``portraits`` does the same in the latent space of a real generator. ``system_ratings`` and
``panel_ratings`` simulate tables without images, for the coverage of intervals.
"""

from likewise.simulation.world import World

__all__ = ["World"]
