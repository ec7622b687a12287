"""The commands that show results: show, compare, groups."""
