"""Rehearsals with simulated raters."""
