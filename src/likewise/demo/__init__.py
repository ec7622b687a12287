"""The demo: synthetic identities with known ground truth, audited like any other data."""
