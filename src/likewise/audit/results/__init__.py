"""What is read from the artifacts of a finished audit: comparisons, gates, the gallery."""
