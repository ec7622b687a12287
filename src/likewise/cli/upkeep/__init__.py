"""The commands of upkeep: forget, cache."""
