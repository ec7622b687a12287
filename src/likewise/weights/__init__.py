"""Pretrained weights."""
