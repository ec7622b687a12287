"""Sections on the estimates: designs, gaps, error rates, labels, edits, groups, people."""
