"""The study server: pages, forms, limits, schedule."""
