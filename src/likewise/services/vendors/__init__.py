"""One file and one transport for each vendor."""
