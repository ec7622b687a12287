"""Estimates from ratings. Recognizers, classifiers and people are all raters here."""
