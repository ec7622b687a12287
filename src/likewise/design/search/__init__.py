"""The exact matching engine."""
