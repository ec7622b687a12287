"""Servers that speak the wire formats of vision-language models and image editors, on 127.0.0.1, with planted rules."""
