"""Counterfactual edits: sweeps, masks, compositing, placebo arms, editors, validity."""
