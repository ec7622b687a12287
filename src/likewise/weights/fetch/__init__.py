"""Fetching archives from package registries."""
