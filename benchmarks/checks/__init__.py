"""Checks of intervals and plans by other processes than those that the package simulates itself."""
