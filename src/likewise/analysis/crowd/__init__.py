"""Estimates from people's responses: agreement, consensus, quality, ordinal scales, skin tone."""
