"""Slopes of classifier labels along counterfactual edits, their tests and placebo arms."""
