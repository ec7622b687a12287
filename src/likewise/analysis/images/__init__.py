"""Estimates about the images themselves: group means and feature distances."""
