"""Ratios against peers, never timed tests."""
