"""The commands of ``likewise study``."""
