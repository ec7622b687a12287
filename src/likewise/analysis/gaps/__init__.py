"""The difference in mean answers between two groups: unmatched, matched and adjusted."""
