"""From a table and images to Images: read, describe, align."""
