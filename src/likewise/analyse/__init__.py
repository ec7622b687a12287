"""Ratings become Estimates. A recogniser, a classifier and a person are all raters here."""
