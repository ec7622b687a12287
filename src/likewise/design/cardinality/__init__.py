"""Cardinality matching: the largest sample that is balanced, then paired."""
