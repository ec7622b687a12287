"""Data sets in: layouts, readers, alignment, described attributes, precomputed answers, image grids."""
