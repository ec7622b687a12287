"""Propensity scores, and matching on them."""
