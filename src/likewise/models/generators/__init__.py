"""Generators and the encoder of the embedded one."""
