"""Whom a text-to-image model draws: shares, intersections, people in the image, paired prompts, label noise."""
