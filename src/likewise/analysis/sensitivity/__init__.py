"""Sensitivity of matched estimates to unmeasured confounding."""
