"""Face detectors, landmarks and alignment templates."""
