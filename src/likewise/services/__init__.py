"""Classifiers behind a paid service: recorded responses, retries, a budget, and keys that are never written."""
