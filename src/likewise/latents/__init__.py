"""Latents of images: projection, fidelity, directions."""
