"""Rows and sentences of each section of the report."""
