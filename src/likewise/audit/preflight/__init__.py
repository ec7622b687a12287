"""What is checked before any work."""

from likewise.audit.preflight.check import missing_weights as missing_weights
