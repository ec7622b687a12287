"""Models rate images and trials."""
