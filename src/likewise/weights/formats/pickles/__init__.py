"""Pickles read as data: no code of a file is imported or called."""
