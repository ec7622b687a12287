"""Recognisers: each with its own finder, crop, distance and threshold, and the data that the threshold was set on."""
