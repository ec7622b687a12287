"""The rules of a matching, and its result."""
