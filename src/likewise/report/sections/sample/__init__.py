"""Sections on the sample: balance, fidelity, validity of the design, gallery."""
