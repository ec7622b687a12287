"""The commands of ``likewise weights``."""
