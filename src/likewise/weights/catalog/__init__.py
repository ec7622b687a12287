"""Pretrained weights that can be fetched by name."""
