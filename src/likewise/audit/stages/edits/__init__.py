"""Counterfactual edits and their validity."""
