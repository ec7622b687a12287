"""Recognizers: each with its own detector, crop, distance and threshold, and the data that the threshold was set on."""
