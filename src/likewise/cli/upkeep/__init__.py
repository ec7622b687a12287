"""The commands of upkeep: forget."""
