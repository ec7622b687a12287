"""Validation of edits: the validators, their measurements, artifacts, the validity of each edit."""
